import { foldDropped, foldSpan, type ReadFacts } from "./fold-trace.ts";
import { mergePayload, mergeRecord, sameSpan } from "./merge-span.ts";
import type { Span, SpanEvent, SpanPayload, SpanRecord } from "./span.ts";
import { emptyTrace, type Trace, type TraceKey } from "./trace.ts";

/** Records of one trace from one producer. */
export interface Frame extends TraceKey {
  readonly producer: string;
  /** Records of the trace that this producer had dropped before it sent the frame, in all. */
  readonly dropped: number;
  readonly records: readonly SpanRecord[];
}

/** All that a batch says of one span. */
interface SpanChanges {
  readonly spanId: string;
  readonly records: readonly SpanRecord[];
  readonly events: readonly SpanEvent[];
  readonly payloads: readonly SpanPayload[];
}

/** All that a batch says of one trace. */
export interface TraceChanges extends TraceKey {
  readonly spans: ReadonlyMap<string, SpanChanges>;
  readonly dropped: Readonly<Record<string, number>>;
}

/** What has to be written for one trace. */
export interface TraceUpdate {
  readonly trace: Trace;
  /** Spans whose row or events or payloads changed; they get the trace's new revision. */
  readonly changed: readonly Span[];
}

/** Groups frames by trace and span, each in ascending order, so that two writers lock in the same order. */
export function groupFrames(frames: readonly Frame[]): readonly TraceChanges[] {
  const traces = new Map<string, Frame[]>();
  for (const frame of frames) {
    const key = `${frame.tenant}/${frame.traceId}`;
    const group = traces.get(key);
    if (group === undefined) traces.set(key, [frame]);
    else group.push(frame);
  }
  return [...traces.entries()].sort(byKey).map(([, group]) => groupTrace(group));
}

/**
 * A trace after a batch. `stored` are its spans as the database has them, `touched` the ids of those
 * that got a new event or payload. A batch that says nothing new changes nothing, the revision included.
 */
export function applyChanges(
  trace: Trace | undefined,
  stored: ReadonlyMap<string, Span>,
  changes: TraceChanges,
  touched: ReadonlySet<string>,
  read: ReadFacts,
): TraceUpdate {
  let next = trace ?? emptyTrace;
  for (const [producer, dropped] of Object.entries(changes.dropped)) next = foldDropped(next, producer, dropped);
  const changed: Span[] = [];
  for (const { spanId, records } of changes.spans.values()) {
    const before = stored.get(spanId);
    const after = records.reduce<Span | undefined>(mergeRecord, before);
    if (after === undefined) continue;
    const same = before !== undefined && sameSpan(before, after);
    if (!same) next = foldSpan(next, before, after, read);
    if (!same || touched.has(spanId)) changed.push(after);
  }
  const isNew = changed.length > 0 || next !== trace;
  return { trace: isNew ? { ...next, revision: next.revision + 1 } : next, changed };
}

function groupTrace(frames: readonly Frame[]): TraceChanges {
  const [first] = frames;
  const records = new Map<string, SpanRecord[]>();
  let dropped = emptyTrace;
  for (const frame of frames) {
    dropped = foldDropped(dropped, frame.producer, frame.dropped);
    for (const record of frame.records) {
      const group = records.get(record.spanId);
      if (group === undefined) records.set(record.spanId, [record]);
      else group.push(record);
    }
  }
  return {
    tenant: first?.tenant ?? "",
    traceId: first?.traceId ?? "",
    dropped: dropped.dropped,
    spans: new Map([...records.entries()].sort(byKey).map(([spanId, group]) => [spanId, groupSpan(spanId, group)])),
  };
}

function groupSpan(spanId: string, records: readonly SpanRecord[]): SpanChanges {
  const events = new Map<number, SpanEvent>();
  const payloads = new Map<string, SpanPayload>();
  for (const record of records) {
    if (record.kind === "event" && !events.has(record.event.ordinal)) events.set(record.event.ordinal, record.event);
    if (record.kind === "payload") {
      payloads.set(record.payload.slot, mergePayload(payloads.get(record.payload.slot), record.payload));
    }
  }
  return { spanId, records, events: [...events.values()], payloads: [...payloads.values()] };
}

function byKey([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
