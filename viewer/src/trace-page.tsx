import { effect, useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { DetailPanel } from "./detail-panel.tsx";
import { Help } from "./help.tsx";
import { actionOf, type KeyAction, type KeyState } from "./keyboard.ts";
import { followLink, hashSpan, showSpanInAddress } from "./location.ts";
import { Minimap } from "./minimap.tsx";
import { Notice } from "./notice.tsx";
import type { Route } from "./route.ts";
import { SpanRows } from "./span-rows.tsx";
import { SpanSelection } from "./span-selection.ts";
import { TraceHeader } from "./trace-header.tsx";
import { TracePageState } from "./trace-page-state.ts";

/** One trace, live. */
export function TracePage({ route }: { readonly route: Route }) {
  const state = useMemo(() => new TracePageState(), []);
  const selection = useMemo(() => new SpanSelection(state), [state]);
  const search = useRef<HTMLInputElement>(null);
  const details = useRef<HTMLElement>(null);
  useEffect(() => {
    const leaving = new AbortController();
    void state.run(route, leaving.signal);
    return () => leaving.abort();
  }, []);
  useEffect(() => effect(() => selection.reveal(hashSpan.value)), []);
  useEffect(
    () =>
      effect(() => {
        const { value } = state.selected;
        if (!selection.waits) showSpanInAddress(value);
      }),
    [],
  );
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const fields = { search: search.current, details: details.current };
      handleKey(event, selection.keyState(), (action) => perform(action, state, selection, fields));
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const empty = useComputed(() => state.tree.value.spans.length === 0);

  if (state.problem.value !== "") {
    return (
      <Notice state="broken" title="This trace cannot be shown" hint={state.problem.value}>
        <a class="button" href="/" onClick={followLink}>
          All traces
        </a>
      </Notice>
    );
  }
  return (
    <div class="page trace" data-testid="trace-page" data-connection={state.connection.value}>
      <TraceHeader state={state} />
      <Toolbar state={state} selection={selection} searchRef={search} />
      {state.connection.value === "lost" ? (
        <div class="banner" role="status" data-testid="banner-disconnected">
          The connection is lost. What you see is from before; trying again.
        </div>
      ) : null}
      {empty.value ? (
        <Notice
          state={state.connection.value === "connecting" ? "loading" : "empty"}
          title={state.connection.value === "connecting" ? "Loading the trace" : "Nothing has happened yet"}
          hint={state.connection.value === "connecting" ? "" : "The first span appears here the moment it starts."}
        />
      ) : (
        <main class={state.selected.value === "" ? "split" : "split with-details"}>
          <SpanRows state={state} selection={selection} />
          <DetailPanel state={state} panelRef={details} />
        </main>
      )}
      <Help open={state.help} />
    </div>
  );
}

function Toolbar(props: {
  readonly state: TracePageState;
  readonly selection: SpanSelection;
  readonly searchRef: { current: HTMLInputElement | null };
}) {
  const { state, selection } = props;
  const errors = state.summary.value?.errorCount ?? 0;
  return (
    <div class="bar">
      <Minimap state={state} selection={selection} />
      <div class="tools">
        <input
          ref={props.searchRef}
          type="search"
          placeholder="Search spans   /"
          aria-label="Search spans"
          data-testid="search"
          value={state.search.value}
          onInput={(event) => {
            state.search.value = event.currentTarget.value;
          }}
        />
        <button
          type="button"
          data-testid="next-error"
          title="Next error (e)"
          disabled={errors === 0}
          onClick={() => selection.nextError()}
        >
          {errors === 0 ? "No errors" : `Errors ${errors}`}
        </button>
        <button
          type="button"
          data-testid="help"
          title="Keys (?)"
          aria-label="Keys"
          onClick={() => {
            state.help.value = true;
          }}
        >
          ?
        </button>
      </div>
    </div>
  );
}

function handleKey(event: KeyboardEvent, state: KeyState, act: (action: KeyAction) => void): void {
  if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const { target } = event;
  const writes = target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement;
  if (writes && event.key !== "Escape" && event.key !== "ArrowDown" && event.key !== "Enter") return;
  // Enter on a button or a link is theirs.
  if (event.key === "Enter" && (target instanceof HTMLButtonElement || target instanceof HTMLAnchorElement)) return;
  const action = actionOf(event.key, state);
  if (action === undefined) return;
  event.preventDefault();
  if (writes) target.blur();
  act(action);
}

function perform(
  action: KeyAction,
  state: TracePageState,
  selection: SpanSelection,
  fields: { readonly search: HTMLInputElement | null; readonly details: HTMLElement | null },
): void {
  switch (action.kind) {
    case "select":
      selection.selectRow(action.row);
      break;
    case "collapse":
    case "expand":
      selection.toggleRow(action.row);
      break;
    case "open":
      fields.details?.focus();
      break;
    case "close":
      selection.close();
      break;
    case "search":
      fields.search?.select();
      break;
    case "next-error":
      selection.nextError();
      break;
    case "follow":
      state.follow.value = !state.follow.value;
      break;
    case "help":
      state.help.value = !state.help.value;
      break;
    default:
      action satisfies never;
  }
}
