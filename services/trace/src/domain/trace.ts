/** Which trace of which tenant. */
export interface TraceKey {
  readonly tenant: string;
  readonly traceId: string;
}

/** Tokens and money of model calls; cached input is part of input, reasoning part of output. */
export interface Usage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly reasoningTokens: number;
  /** Sum of the calls that have a price. */
  readonly costNanoUsd: number;
  /** How many calls have a price; none means that the cost is not known. */
  readonly priced: number;
}

/** The span that gives a trace its name: a root before an orphan, then the earliest. */
export interface TraceHead {
  readonly spanId: string;
  readonly orphan: boolean;
  readonly startNs: bigint;
  readonly sequence: number;
  readonly name: string;
  readonly kind: string;
  readonly taskId: string;
  /** State of the task where the span has ended. */
  readonly taskState: string;
}

/** A trace as it is stored: sums over its spans, kept up with every change. */
export interface Trace {
  /** Grows by one with every stored change. */
  readonly revision: number;
  readonly head?: TraceHead | undefined;
  readonly startNs: bigint;
  /** Greatest end of a span that ended, and of one that was closed by the service. */
  readonly endedNs: bigint;
  readonly forcedNs: bigint;
  readonly spanCount: number;
  readonly openCount: number;
  readonly forcedCount: number;
  readonly errorCount: number;
  readonly usage: Usage;
  /** Records lost so far, by producer. */
  readonly dropped: Readonly<Record<string, number>>;
}

/** A trace of which nothing is known yet. */
export const emptyTrace: Trace = {
  revision: 0,
  startNs: 0n,
  endedNs: 0n,
  forcedNs: 0n,
  spanCount: 0,
  openCount: 0,
  forcedCount: 0,
  errorCount: 0,
  usage: { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0, costNanoUsd: 0, priced: 0 },
  dropped: {},
};

/** True while a span is open, or none is known. */
export function isRunning(trace: Trace): boolean {
  return trace.openCount > 0 || trace.spanCount === 0;
}

/** End in nanoseconds, 0 while something runs. */
export function traceEnd(trace: Trace): bigint {
  if (isRunning(trace)) return 0n;
  return trace.forcedCount > 0 && trace.forcedNs > trace.endedNs ? trace.forcedNs : trace.endedNs;
}

/** Records that producers had to drop. */
export function droppedRecords(trace: Trace): number {
  return Object.values(trace.dropped).reduce((sum, count) => sum + count, 0);
}
