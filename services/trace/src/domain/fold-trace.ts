import { errorOf, isOpen, type Span, spanStates, stateOf } from "./span.ts";
import type { Trace, TraceHead, Usage } from "./trace.ts";

/** What the vocabulary of attributes says of a span. */
export interface SpanFacts {
  /** Of a span that is itself a model call; undefined for all others, so that no usage counts twice. */
  readonly usage: Usage | undefined;
  /** State of the task, for a task's span. */
  readonly taskState: string;
}

/** Reads the facts of a span. */
export type ReadFacts = (span: Span) => SpanFacts;

/** A trace after one of its spans went from `before` (absent for a new one) to `after`. The revision stays. */
export function foldSpan(trace: Trace, before: Span | undefined, after: Span, read: ReadFacts): Trace {
  const was = before === undefined ? nothing : countsOf(before);
  const is = countsOf(after);
  return {
    ...trace,
    head: headOf(trace.head, after, read),
    startNs: trace.spanCount === 0 || after.startNs < trace.startNs ? after.startNs : trace.startNs,
    endedNs: latest(trace.endedNs, after.ended?.endNs),
    forcedNs: latest(trace.forcedNs, after.forced?.endNs),
    spanCount: trace.spanCount + is.spans - was.spans,
    openCount: trace.openCount + is.open - was.open,
    forcedCount: trace.forcedCount + is.forced - was.forced,
    errorCount: trace.errorCount + is.errors - was.errors,
    usage: replaceUsage(trace.usage, before === undefined ? undefined : read(before).usage, read(after).usage),
  };
}

/** A trace after a frame said how many records its producer had lost of it so far. */
export function foldDropped(trace: Trace, producer: string, dropped: number): Trace {
  if (dropped <= (trace.dropped[producer] ?? 0)) return trace;
  return { ...trace, dropped: { ...trace.dropped, [producer]: dropped } };
}

const nothing = { spans: 0, open: 0, forced: 0, errors: 0 };

function countsOf(span: Span) {
  return {
    spans: 1,
    open: isOpen(span) ? 1 : 0,
    forced: stateOf(span) === spanStates.forced ? 1 : 0,
    errors: errorOf(span) === "" ? 0 : 1,
  };
}

function headOf(head: TraceHead | undefined, span: Span, read: ReadFacts): TraceHead | undefined {
  const { started } = span;
  if (started === undefined) return head;
  const candidate: TraceHead = {
    spanId: span.spanId,
    orphan: started.parentSpanId !== "",
    startNs: span.startNs,
    sequence: started.sequence,
    name: started.name,
    kind: started.kind,
    taskId: started.taskId,
    taskState: span.ended === undefined ? "" : read(span).taskState,
  };
  return head === undefined || head.spanId === span.spanId || isBefore(candidate, head) ? candidate : head;
}

function isBefore(a: TraceHead, b: TraceHead): boolean {
  if (a.orphan !== b.orphan) return b.orphan;
  if (a.startNs !== b.startNs) return a.startNs < b.startNs;
  if (a.sequence !== b.sequence) return a.sequence < b.sequence;
  return a.spanId < b.spanId;
}

function replaceUsage(sum: Usage, was: Usage | undefined, is: Usage | undefined): Usage {
  const change = (key: keyof Usage) => sum[key] + (is?.[key] ?? 0) - (was?.[key] ?? 0);
  return {
    inputTokens: change("inputTokens"),
    outputTokens: change("outputTokens"),
    cachedInputTokens: change("cachedInputTokens"),
    reasoningTokens: change("reasoningTokens"),
    costNanoUsd: change("costNanoUsd"),
    priced: change("priced"),
  };
}

function latest(a: bigint, b: bigint | undefined): bigint {
  return b !== undefined && b > a ? b : a;
}
