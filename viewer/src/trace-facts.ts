import type { TraceSummary } from "@drover/proto/trace/v1/trace";
import { attr } from "@drover/tracing/schema";
import { word } from "./format.ts";
import type { SpanView } from "./span-view.ts";
import { type TimeScale, unionMs } from "./time-scale.ts";

/** How a state is shown; never by a colour that means a kind. */
export type Tone = "running" | "waiting" | "succeeded" | "failed" | "ended";

/** What the header says of a trace. */
export interface TraceFacts {
  readonly state: string;
  readonly tone: Tone;
  /** 0 where there are no rounds. */
  readonly round: number;
  readonly maxRounds: number;
  readonly mode: string;
  readonly workMs: number;
  readonly waitingMs: number;
  /** The task that can be cancelled; empty where nothing can be. */
  readonly cancellableTask: string;
}

const tones: Readonly<Record<string, Tone>> = {
  SUCCEEDED: "succeeded",
  FAILED: "failed",
  CANCELLED: "ended",
  WAITING_APPROVAL: "waiting",
};

/** Reads the header's facts. `scale` is the whole stretch of the trace, so that live work counts up to now. */
export function traceFacts(
  spans: readonly SpanView[],
  summary: TraceSummary | undefined,
  scale: TimeScale,
): TraceFacts {
  const running = summary?.running ?? true;
  const taskState = newestTaskState(spans) || (summary?.taskState ?? "");
  const waitingMs = waitingTime(spans, scale);
  let round = 0;
  let maxRounds = 0;
  let mode = "";
  for (const { attributes } of spans) {
    round = Math.max(round, numberIn(attributes[attr.round]));
    maxRounds = Math.max(maxRounds, numberIn(attributes[attr.maxRounds]));
    mode ||= attributes[attr.mode] ?? "";
  }
  return {
    ...stateOf(taskState, running, summary),
    round,
    maxRounds,
    mode,
    waitingMs,
    workMs: spans.length === 0 ? 0 : endOf(spans, scale) - scale.fromMs - waitingMs,
    cancellableTask: running && summary?.rootKind === "task" ? summary.taskId : "",
  };
}

function stateOf(taskState: string, running: boolean, summary: TraceSummary | undefined) {
  if (taskState !== "") return { state: word(taskState), tone: tones[taskState] ?? (running ? "running" : "ended") };
  if (summary === undefined) return { state: "not started", tone: "ended" as const };
  if (running) return { state: "running", tone: "running" as const };
  return (summary?.errorCount ?? 0) > 0
    ? { state: "ended with errors", tone: "failed" as const }
    : { state: "ended", tone: "ended" as const };
}

/** What the newest change of state or the end of a task's span says. */
function newestTaskState(spans: readonly SpanView[]): string {
  let state = "";
  let atMs = Number.NEGATIVE_INFINITY;
  const see = (found: string | undefined, timeMs: number) => {
    if (found === undefined || timeMs < atMs) return;
    state = found;
    atMs = timeMs;
  };
  for (const span of spans) {
    if (span.kind !== "task" || span.parentId !== "") continue;
    see(span.attributes[attr.taskState], span.endMs ?? span.startMs);
    for (const event of span.events) {
      if (event.kind === "state_changed") see(event.attributes[attr.taskState], event.timeMs);
    }
  }
  return state;
}

/** The end of the task, after which only its long-term memory is seen to; where there is none, of everything. */
function endOf(spans: readonly SpanView[], scale: TimeScale): number {
  const task = spans.find(({ kind, parentId }) => kind === "task" && parentId === "");
  return Math.min(task?.endMs ?? scale.toMs, scale.toMs);
}

function waitingTime(spans: readonly SpanView[], scale: TimeScale): number {
  const waits = spans.filter(({ kind }) => kind === "wait");
  return unionMs(waits.map(({ startMs, endMs }) => [startMs, endMs ?? scale.toMs] as const));
}

/** A whole number in an attribute, 0 for none. */
export function numberIn(text: string | undefined): number {
  const value = Number(text ?? 0);
  return Number.isFinite(value) ? value : 0;
}
