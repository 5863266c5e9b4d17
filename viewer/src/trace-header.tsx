import { cost, count, duration } from "./format.ts";
import { followLink } from "./location.ts";
import { StateChip } from "./state-chip.tsx";
import type { TracePageState } from "./trace-page-state.ts";

/** What it is doing, for how long, at what cost, and how to stop it: always in sight. */
export function TraceHeader({ state }: { readonly state: TracePageState }) {
  const summary = state.summary.value;
  const facts = state.facts.value;
  const usage = summary?.usage;
  const name = summary === undefined || summary.name === "" ? state.traceId.value : summary.name;
  document.title = name === "" ? "Drover" : `${name} · Drover`;
  return (
    <header class="top">
      <div class="title">
        <div class="crumb">
          <a href="/" onClick={followLink}>
            Traces
          </a>
          {summary === undefined || summary.taskId === "" ? null : <span> / task {summary.taskId.slice(0, 13)}</span>}
        </div>
        <h1 data-testid="trace-name">{name}</h1>
      </div>
      <StateChip state={facts.state} tone={facts.tone} />
      {facts.maxRounds > 0 || facts.round > 0 ? (
        <span class="chip" data-testid="round">
          {facts.mode === "" ? "" : `${facts.mode.toLowerCase()} · `}round {facts.round}
          {facts.maxRounds > 0 ? ` of ${facts.maxRounds}` : ""}
        </span>
      ) : null}
      <div class="numbers">
        {summary === undefined ? null : (
          <span data-testid="work-time">
            <b>{duration(facts.workMs)}</b> work
            {facts.waitingMs > 0 ? ` · ${duration(facts.waitingMs)} waiting` : ""}
          </span>
        )}
        {usage === undefined ? null : (
          <span data-testid="tokens">
            <b>{count(Number(usage.inputTokens))}</b> in · <b>{count(Number(usage.outputTokens))}</b> out
          </span>
        )}
        {usage?.costNanoUsd === undefined ? null : (
          <span data-testid="cost">
            <b>{cost(usage.costNanoUsd)}</b>
          </span>
        )}
        {summary !== undefined && summary.droppedRecords > 0n ? (
          <span
            class="error"
            data-testid="dropped"
            title="The producers ran out of memory for them while the bus was away."
          >
            {count(Number(summary.droppedRecords))} records lost
          </span>
        ) : null}
      </div>
      <HeaderActions state={state} />
    </header>
  );
}

function HeaderActions({ state }: { readonly state: TracePageState }) {
  if (!state.running.value) return null;
  const { cancellableTask } = state.facts.value;
  return (
    <div class="actions">
      <button
        type="button"
        data-testid="follow"
        aria-pressed={state.follow.value}
        onClick={() => {
          state.follow.value = !state.follow.value;
        }}
      >
        {state.follow.value ? "Following" : "Follow live"}
      </button>
      {cancellableTask === "" ? null : <CancelButton state={state} />}
    </div>
  );
}

const cancelTexts = {
  no: "Cancel",
  asked: "Cancelling",
  sent: "Cancelling",
  failed: "Cancel failed, try again",
} as const;

function CancelButton({ state }: { readonly state: TracePageState }) {
  const step = state.cancelling.value;
  const busy = step === "asked" || step === "sent";
  return (
    <button type="button" data-testid="cancel" disabled={busy} onClick={() => void state.cancel()}>
      {cancelTexts[step]}
    </button>
  );
}
