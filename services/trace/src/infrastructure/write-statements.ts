import { sql, type Transaction } from "kysely";
import type { TraceChanges, TraceUpdate } from "../domain/batch.ts";
import { type Span, stateOf } from "../domain/span.ts";
import type { Trace } from "../domain/trace.ts";
import type { TraceSchema } from "./schema.ts";

type Tx = Transaction<TraceSchema>;

/** What a batch comes to, for one trace. */
export interface Write {
  readonly changes: TraceChanges;
  readonly update: TraceUpdate;
}

/** Inserts the events that are new; gives `tenant/trace/span` of each span that got one. */
export async function writeEvents(tx: Tx, batch: readonly TraceChanges[]): Promise<string[]> {
  const rows = batch.flatMap(({ tenant, traceId, spans }) =>
    [...spans.values()].flatMap(({ spanId, events }) =>
      events.map((event) => ({
        tenant_id: tenant,
        trace_id: traceId,
        span_id: spanId,
        ordinal: event.ordinal,
        time_ns: event.timeNs.toString(),
        kind: event.kind,
        text: event.text,
        attributes: JSON.stringify(event.attributes),
      })),
    ),
  );
  if (rows.length === 0) return [];
  const column = columnsOf(rows);
  const written = await sql<{ id: string }>`
    INSERT INTO span_event (tenant_id, trace_id, span_id, ordinal, time_ns, kind, text, attributes)
    SELECT * FROM unnest(${column("tenant_id")}::text[], ${column("trace_id")}::text[], ${column("span_id")}::text[],
      ${column("ordinal")}::bigint[], ${column("time_ns")}::bigint[], ${column("kind")}::text[],
      ${column("text")}::text[], ${column("attributes")}::jsonb[])
    ON CONFLICT DO NOTHING RETURNING tenant_id || '/' || trace_id || '/' || span_id AS id`.execute(tx);
  return written.rows.map(({ id }) => id);
}

/** Writes payloads, the longer one where there are two; gives `tenant/trace/span` of each span that changed. */
export async function writePayloads(tx: Tx, batch: readonly TraceChanges[]): Promise<string[]> {
  const rows = batch.flatMap(({ tenant, traceId, spans }) =>
    [...spans.values()].flatMap(({ spanId, payloads }) =>
      payloads.map((payload) => ({
        tenant_id: tenant,
        trace_id: traceId,
        span_id: spanId,
        slot: payload.slot,
        text: payload.text,
        total_characters: payload.totalCharacters,
      })),
    ),
  );
  if (rows.length === 0) return [];
  const column = columnsOf(rows);
  const written = await sql<{ id: string }>`
    INSERT INTO span_payload AS p (tenant_id, trace_id, span_id, slot, text, total_characters)
    SELECT * FROM unnest(${column("tenant_id")}::text[], ${column("trace_id")}::text[], ${column("span_id")}::text[],
      ${column("slot")}::text[], ${column("text")}::text[], ${column("total_characters")}::bigint[])
    ON CONFLICT (tenant_id, trace_id, span_id, slot) DO UPDATE
      SET text = excluded.text, total_characters = excluded.total_characters
      WHERE (excluded.total_characters, excluded.text COLLATE "C") > (p.total_characters, p.text COLLATE "C")
    RETURNING tenant_id || '/' || trace_id || '/' || span_id AS id`.execute(tx);
  return written.rows.map(({ id }) => id);
}

/** Writes changed spans as they are now, under the new revision of their trace. */
export async function writeSpans(tx: Tx, writes: readonly Write[]): Promise<void> {
  const rows = writes.flatMap(({ changes, update }) =>
    update.changed.map((span) => spanRow(changes, span, update.trace.revision)),
  );
  if (rows.length === 0) return;
  const column = columnsOf(rows);
  await sql`
    INSERT INTO span (tenant_id, trace_id, span_id, state, start_ns, parent_span_id, name, kind, service, task_id,
      sequence, started_attributes, forced_ns, forced_reason, ended_ns, error, ended_attributes, revision)
    SELECT * FROM unnest(${column("tenant_id")}::text[], ${column("trace_id")}::text[], ${column("span_id")}::text[],
      ${column("state")}::smallint[], ${column("start_ns")}::bigint[], ${column("parent_span_id")}::text[],
      ${column("name")}::text[], ${column("kind")}::text[], ${column("service")}::text[], ${column("task_id")}::text[],
      ${column("sequence")}::bigint[], ${column("started_attributes")}::jsonb[], ${column("forced_ns")}::bigint[],
      ${column("forced_reason")}::text[], ${column("ended_ns")}::bigint[], ${column("error")}::text[],
      ${column("ended_attributes")}::jsonb[], ${column("revision")}::bigint[])
    ON CONFLICT (tenant_id, trace_id, span_id) DO UPDATE SET
      state = excluded.state, start_ns = excluded.start_ns, parent_span_id = excluded.parent_span_id,
      name = excluded.name, kind = excluded.kind, service = excluded.service, task_id = excluded.task_id,
      sequence = excluded.sequence, started_attributes = excluded.started_attributes,
      forced_ns = excluded.forced_ns, forced_reason = excluded.forced_reason, ended_ns = excluded.ended_ns,
      error = excluded.error, ended_attributes = excluded.ended_attributes, revision = excluded.revision`.execute(tx);
}

/** Writes the sums of changed traces. */
export async function writeTraces(tx: Tx, writes: readonly Write[]): Promise<void> {
  if (writes.length === 0) return;
  const column = columnsOf(writes.map(({ changes, update }) => traceRow(changes, update.trace)));
  await sql`
    UPDATE trace SET revision = n.revision, head = n.head, task_id = n.task_id, start_ns = n.start_ns,
      ended_ns = n.ended_ns, forced_ns = n.forced_ns, span_count = n.span_count, open_count = n.open_count,
      forced_count = n.forced_count, error_count = n.error_count, usage = n.usage, dropped = n.dropped,
      changed_at = clock_timestamp()
    FROM unnest(${column("tenant_id")}::text[], ${column("trace_id")}::text[], ${column("revision")}::bigint[],
      ${column("head")}::jsonb[], ${column("task_id")}::text[], ${column("start_ns")}::bigint[],
      ${column("ended_ns")}::bigint[], ${column("forced_ns")}::bigint[], ${column("span_count")}::int[],
      ${column("open_count")}::int[], ${column("forced_count")}::int[], ${column("error_count")}::int[],
      ${column("usage")}::jsonb[], ${column("dropped")}::jsonb[])
      AS n(tenant_id, trace_id, revision, head, task_id, start_ns, ended_ns, forced_ns, span_count, open_count,
        forced_count, error_count, usage, dropped)
    WHERE trace.tenant_id = n.tenant_id AND trace.trace_id = n.trace_id`.execute(tx);
}

function spanRow(key: TraceChanges, span: Span, revision: number) {
  const { started, forced, ended } = span;
  return {
    tenant_id: key.tenant,
    trace_id: key.traceId,
    span_id: span.spanId,
    state: stateOf(span),
    start_ns: span.startNs.toString(),
    parent_span_id: started?.parentSpanId ?? null,
    name: started?.name ?? null,
    kind: started?.kind ?? null,
    service: started?.service ?? null,
    task_id: started?.taskId ?? null,
    sequence: started?.sequence ?? null,
    started_attributes: started === undefined ? null : JSON.stringify(started.attributes),
    forced_ns: forced?.endNs.toString() ?? null,
    forced_reason: forced?.reason ?? null,
    ended_ns: ended?.endNs.toString() ?? null,
    error: ended?.error ?? null,
    ended_attributes: ended === undefined ? null : JSON.stringify(ended.attributes),
    revision,
  };
}

function traceRow(key: TraceChanges, trace: Trace) {
  return {
    tenant_id: key.tenant,
    trace_id: key.traceId,
    revision: trace.revision,
    head: trace.head === undefined ? null : JSON.stringify({ ...trace.head, startNs: trace.head.startNs.toString() }),
    task_id: trace.head?.taskId ?? "",
    start_ns: trace.startNs.toString(),
    ended_ns: trace.endedNs.toString(),
    forced_ns: trace.forcedNs.toString(),
    span_count: trace.spanCount,
    open_count: trace.openCount,
    forced_count: trace.forcedCount,
    error_count: trace.errorCount,
    usage: JSON.stringify(trace.usage),
    dropped: JSON.stringify(trace.dropped),
  };
}

/** Rows as columns, one array each: a statement of a fixed text, however many rows there are. */
function columnsOf<Row extends object>(rows: readonly Row[]): <K extends keyof Row>(name: K) => Row[K][] {
  return (name) => rows.map((row) => row[name]);
}
