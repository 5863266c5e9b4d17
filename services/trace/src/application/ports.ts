import type { Frame } from "../domain/batch.ts";
import type { Span, SpanEvent, SpanPayload } from "../domain/span.ts";
import type { Trace, TraceKey } from "../domain/trace.ts";

/** A change of a trace that was committed. */
export interface Revision extends TraceKey {
  readonly revision: number;
}

/** A trace as it is read. */
export interface TraceRow {
  readonly traceId: string;
  readonly trace: Trace;
  /** Milliseconds since the revision last grew, by the database's clock. */
  readonly quietMs: number;
}

/** A span as it is read. */
export interface SpanRow {
  readonly span: Span;
  readonly events: readonly SpanEvent[];
  readonly revision: number;
}

/** Where a list of traces goes on: after the trace that started then, in descending order. */
export interface ListPosition {
  readonly startNs: bigint;
  readonly traceId: string;
}

/** Where a walk through changes goes on: after this span of this revision. */
export interface ChangePosition {
  readonly revision: number;
  readonly spanId: string;
}

/** Changes of a trace; the trace is read before the spans, which may thus be newer than it. */
export interface Changes {
  readonly row: TraceRow | undefined;
  readonly spans: readonly SpanRow[];
  /** True when fewer spans than asked for were left. */
  readonly last: boolean;
}

/** What rpcs read. Everything is limited to one tenant. UNAVAILABLE while the database is away. */
export interface TraceReader {
  list(
    tenant: string,
    query: { readonly taskId: string; readonly after: ListPosition | undefined; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly TraceRow[]>;
  /** Spans in ascending (revision, span id) after a position. */
  changes(key: TraceKey, after: ChangePosition, limit: number, signal: AbortSignal): Promise<Changes>;
  span(
    key: TraceKey,
    spanId: string,
    signal: AbortSignal,
  ): Promise<(SpanRow & { readonly payloads: readonly SpanPayload[] }) | undefined>;
}

/** What batches and timers write, across tenants. */
export interface TraceWriter {
  /** Merges frames in one transaction and gives the revisions that grew. Idempotent. */
  ingest(frames: readonly Frame[]): Promise<readonly Revision[]>;
  /** Closes at most `limit` open spans of which nobody spoke for `silentMs`, or `settleMs` where the task has ended. */
  closeSilent(
    silence: { readonly silentMs: number; readonly settleMs: number },
    limit: number,
  ): Promise<readonly Revision[]>;
  /** Deletes at most `limit` traces that did not change for `ageMs`; gives how many. */
  deleteOld(ageMs: number, limit: number): Promise<number>;
}

/** Hints between replicas that a trace changed. A lost hint delays a watcher until its next poll. */
export interface RevisionHints {
  publish(revision: Revision): void;
  subscribe(key: TraceKey, listener: (revision: number) => void): AsyncDisposable;
}

/** What a use case says of itself. */
export interface Log {
  warn(fields: Readonly<Record<string, unknown>>, message: string): void;
}
