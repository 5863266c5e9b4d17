import { attr } from "@drover/tracing/schema";
import { type Signal, useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { offset, word } from "./format.ts";
import { PayloadView } from "./payload-view.tsx";
import { eventText, spanFacts } from "./span-facts.ts";
import type { SpanView } from "./span-view.ts";
import type { TracePageState } from "./trace-page-state.ts";

const tabs = ["Overview", "Input", "Output", "Events"] as const;
type Tab = (typeof tabs)[number];

/** Everything about the selected span: first what a person needs, then the content. */
export function DetailPanel(props: {
  readonly state: TracePageState;
  readonly panelRef: { current: HTMLElement | null };
}) {
  const { state } = props;
  const tab = useSignal<Tab>("Overview");
  const tree = state.tree.value;
  const span = tree.spans[tree.indexOf.get(state.selected.value) ?? -1];
  if (span === undefined) {
    return (
      <aside ref={props.panelRef} class="details" tabIndex={-1} data-testid="details-empty">
        <p class="notice-hint">Select a span to see what went in and what came out. Press ? for the keys.</p>
      </aside>
    );
  }
  return (
    <aside ref={props.panelRef} class="details" tabIndex={-1} aria-label="Details" data-testid="details">
      <button
        type="button"
        class="close"
        title="Close (Esc)"
        aria-label="Close the details"
        data-testid="details-close"
        onClick={() => {
          state.selected.value = "";
        }}
      >
        ×
      </button>
      <h2 data-testid="details-name">{span.name}</h2>
      <div class="sub">
        {[span.kind === "" ? "not started" : span.kind, span.service, `span ${span.id}`].filter(Boolean).join(" · ")}
      </div>
      <div class="tabs" role="tablist">
        {tabs.map((name) => (
          <TabButton key={name} name={name} tab={tab}>
            {name === "Events" ? `Events ${span.events.length}` : name}
          </TabButton>
        ))}
      </div>
      <TabContent tab={tab.value} span={span} state={state} />
    </aside>
  );
}

function TabButton(props: { readonly name: Tab; readonly tab: Signal<Tab>; readonly children: ComponentChildren }) {
  const isOn = props.tab.value === props.name;
  return (
    <button
      type="button"
      role="tab"
      aria-selected={isOn}
      data-testid={`tab-${props.name.toLowerCase()}`}
      onClick={() => {
        props.tab.value = props.name;
      }}
    >
      {props.children}
    </button>
  );
}

function TabContent({
  tab,
  span,
  state,
}: {
  readonly tab: Tab;
  readonly span: SpanView;
  readonly state: TracePageState;
}) {
  switch (tab) {
    case "Overview":
      return <Overview span={span} state={state} />;
    case "Input":
    case "Output":
      return (
        <PayloadView
          key={`${span.id}/${tab}`}
          traceId={state.traceId.value}
          span={span}
          slot={tab === "Input" ? "input" : "output"}
        />
      );
    case "Events":
      return <Events span={span} state={state} />;
    default:
      return tab satisfies never;
  }
}

function Overview({ span, state }: { readonly span: SpanView; readonly state: TracePageState }) {
  const { fromMs, toMs } = state.scale.value;
  return (
    <>
      {span.error === "" || span.forced ? null : (
        <p class="error" data-testid="details-error">
          {span.error}
        </p>
      )}
      <dl data-testid="facts">
        {spanFacts(span, fromMs, toMs).map(({ label, value, warning, title }) => (
          <Pair key={label} label={label} title={title}>
            {value}
            {warning === undefined ? null : <em> {warning}</em>}
          </Pair>
        ))}
      </dl>
      {span.events.length === 0 ? null : <Events span={span} state={state} brief />}
      <details>
        <summary>Attributes {Object.keys(span.attributes).length}</summary>
        <dl class="raw">
          {Object.entries(span.attributes)
            .sort(([a], [b]) => (a < b ? -1 : 1))
            .map(([key, value]) => (
              <Pair key={key} label={key}>
                {value}
              </Pair>
            ))}
        </dl>
      </details>
    </>
  );
}

function Pair(props: {
  readonly label: string;
  readonly title?: string | undefined;
  readonly children: ComponentChildren;
}) {
  return (
    <>
      <dt>{props.label}</dt>
      <dd title={props.title}>{props.children}</dd>
    </>
  );
}

function Events(props: { readonly span: SpanView; readonly state: TracePageState; readonly brief?: boolean }) {
  const { fromMs } = props.state.scale.value;
  if (props.span.events.length === 0) return <p class="notice-hint">Nothing happened within this span.</p>;
  return (
    <div data-testid="events">
      {props.span.events.map((event) => (
        <div class="event" key={event.ordinal} data-testid="event" data-kind={event.kind}>
          <time>{offset(event.timeMs - fromMs)}</time>
          <div>
            <span class={event.kind === "error" ? "error" : "what"}>{word(event.kind)}</span>
            <span class={props.brief ? "said brief" : "said"} title={event.attributes[attr.spillPointer]}>
              {eventText(event)}
            </span>
            {props.brief ? null : (
              <span class="with">
                {Object.entries(event.attributes)
                  .map(([key, value]) => `${key.split(".").slice(1).join(" ")} ${value}`)
                  .join(" · ")}
              </span>
            )}
          </div>
        </div>
      ))}
    </div>
  );
}
