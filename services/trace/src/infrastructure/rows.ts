import type { TraceRow } from "../application/ports.ts";
import type { Attributes, Span, SpanEvent } from "../domain/span.ts";
import { emptyTrace, type Trace, type TraceHead, type Usage } from "../domain/trace.ts";

/** A row of `trace`; nanoseconds come as text because they are beyond the safe integers. */
export interface TraceRecord {
  readonly tenant_id: string;
  readonly trace_id: string;
  readonly revision: number;
  readonly head: (Omit<TraceHead, "startNs"> & { readonly startNs: string }) | null;
  readonly start_ns: string;
  readonly ended_ns: string;
  readonly forced_ns: string;
  readonly span_count: number;
  readonly open_count: number;
  readonly forced_count: number;
  readonly error_count: number;
  readonly usage: Partial<Usage>;
  readonly dropped: Readonly<Record<string, number>>;
  readonly quiet_ms: number;
}

/** Columns of {@link TraceRecord} of a table or alias `trace`. */
export const traceColumns = `trace.tenant_id, trace.trace_id, trace.revision, trace.head, trace.start_ns::text,
  trace.ended_ns::text, trace.forced_ns::text, trace.span_count, trace.open_count, trace.forced_count,
  trace.error_count, trace.usage, trace.dropped,
  (extract(epoch FROM clock_timestamp() - trace.changed_at) * 1000)::float8 AS quiet_ms`;

/** A row of `span`. */
export interface SpanRecordRow {
  readonly tenant_id: string;
  readonly trace_id: string;
  readonly span_id: string;
  readonly start_ns: string;
  readonly parent_span_id: string | null;
  readonly name: string | null;
  readonly kind: string | null;
  readonly service: string | null;
  readonly task_id: string | null;
  readonly sequence: number | null;
  readonly started_attributes: Attributes | null;
  readonly forced_ns: string | null;
  readonly forced_reason: string | null;
  readonly ended_ns: string | null;
  readonly error: string | null;
  readonly ended_attributes: Attributes | null;
  readonly revision: number;
}

/** Columns of {@link SpanRecordRow} of a table or alias `span`. */
export const spanColumns = `span.tenant_id, span.trace_id, span.span_id, span.start_ns::text, span.parent_span_id,
  span.name, span.kind, span.service, span.task_id, span.sequence, span.started_attributes, span.forced_ns::text,
  span.forced_reason, span.ended_ns::text, span.error, span.ended_attributes, span.revision`;

/** A row of `span_event`. */
export interface EventRecord {
  readonly span_id: string;
  readonly ordinal: number;
  readonly time_ns: string;
  readonly kind: string;
  readonly text: string;
  readonly attributes: Attributes;
}

/** A trace from its row. */
export function traceFrom(record: TraceRecord): Trace {
  return {
    revision: record.revision,
    head: record.head === null ? undefined : { ...record.head, startNs: BigInt(record.head.startNs) },
    startNs: BigInt(record.start_ns),
    endedNs: BigInt(record.ended_ns),
    forcedNs: BigInt(record.forced_ns),
    spanCount: record.span_count,
    openCount: record.open_count,
    forcedCount: record.forced_count,
    errorCount: record.error_count,
    usage: { ...emptyTrace.usage, ...record.usage },
    dropped: record.dropped,
  };
}

/** A trace with how long it has been quiet. */
export function traceRowFrom(record: TraceRecord): TraceRow {
  return { traceId: record.trace_id, trace: traceFrom(record), quietMs: record.quiet_ms };
}

/** A span from its row. */
export function spanFrom(record: SpanRecordRow): Span {
  return {
    spanId: record.span_id,
    startNs: BigInt(record.start_ns),
    ...startedFrom(record),
    ...(record.forced_ns === null
      ? {}
      : { forced: { endNs: BigInt(record.forced_ns), reason: record.forced_reason ?? "" } }),
    ...(record.ended_ns === null
      ? {}
      : {
          ended: {
            endNs: BigInt(record.ended_ns),
            error: record.error ?? "",
            attributes: record.ended_attributes ?? {},
          },
        }),
  };
}

function startedFrom(record: SpanRecordRow): Pick<Span, "started"> {
  if (record.started_attributes === null) return {};
  return {
    started: {
      parentSpanId: record.parent_span_id ?? "",
      name: record.name ?? "",
      kind: record.kind ?? "",
      service: record.service ?? "",
      taskId: record.task_id ?? "",
      attributes: record.started_attributes,
      sequence: record.sequence ?? 0,
    },
  };
}

/** An event from its row. */
export function eventFrom(record: EventRecord): SpanEvent {
  return {
    ordinal: record.ordinal,
    timeNs: BigInt(record.time_ns),
    kind: record.kind,
    text: record.text,
    attributes: record.attributes,
  };
}
