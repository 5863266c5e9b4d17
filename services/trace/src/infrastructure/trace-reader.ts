import type { Database } from "@drover/postgres";
import { sql, type Transaction } from "kysely";
import type { SpanRow, TraceReader } from "../application/ports.ts";
import type { SpanEvent } from "../domain/span.ts";
import type { TraceKey } from "../domain/trace.ts";
import {
  type EventRecord,
  eventFrom,
  type SpanRecordRow,
  spanColumns,
  spanFrom,
  type TraceRecord,
  traceColumns,
  traceRowFrom,
} from "./rows.ts";
import type { TraceSchema } from "./schema.ts";

/** Reads the tables as one tenant at a time. */
export function createTraceReader(database: Database<TraceSchema>): TraceReader {
  return {
    list: (tenant, query, signal) =>
      database.withTenant(
        tenant,
        async (tx) => {
          const { taskId, after, limit } = query;
          const found = await sql<TraceRecord>`SELECT ${sql.raw(traceColumns)} FROM trace
            WHERE tenant_id = ${tenant} AND span_count > 0
              AND (${taskId} = '' OR task_id = ${taskId})
              AND (${after === undefined} OR (start_ns, trace_id) <
                (${(after?.startNs ?? 0n).toString()}::bigint, ${after?.traceId ?? ""}::text))
            ORDER BY start_ns DESC, trace_id DESC LIMIT ${limit}`.execute(tx);
          return found.rows.map(traceRowFrom);
        },
        signal,
      ),
    changes: (key, after, limit, signal) =>
      database.withTenant(
        key.tenant,
        async (tx) => {
          const row = await readTrace(tx, key);
          if (row === undefined) return { row, spans: [], last: true };
          const found = await sql<SpanRecordRow>`SELECT ${sql.raw(spanColumns)} FROM span
            WHERE tenant_id = ${key.tenant} AND trace_id = ${key.traceId}
              AND (revision, span_id) > (${after.revision}::bigint, ${after.spanId}::text)
            ORDER BY revision, span_id LIMIT ${limit}`.execute(tx);
          const spans = await withEvents(tx, key, found.rows);
          return { row, spans, last: found.rows.length < limit };
        },
        signal,
      ),
    span: (key, spanId, signal) =>
      database.withTenant(
        key.tenant,
        async (tx) => {
          const found = await sql<SpanRecordRow>`SELECT ${sql.raw(spanColumns)} FROM span
            WHERE tenant_id = ${key.tenant} AND trace_id = ${key.traceId} AND span_id = ${spanId}`.execute(tx);
          const [row] = await withEvents(tx, key, found.rows);
          if (row === undefined) return undefined;
          const payloads = await sql<{ slot: string; text: string; total_characters: number }>`
            SELECT slot, text, total_characters FROM span_payload
            WHERE tenant_id = ${key.tenant} AND trace_id = ${key.traceId} AND span_id = ${spanId}
            ORDER BY slot`.execute(tx);
          return {
            ...row,
            payloads: payloads.rows.map(({ slot, text, total_characters }) => ({
              slot,
              text,
              totalCharacters: total_characters,
            })),
          };
        },
        signal,
      ),
  };
}

async function readTrace(tx: Transaction<TraceSchema>, key: TraceKey) {
  const found = await sql<TraceRecord>`SELECT ${sql.raw(traceColumns)} FROM trace
    WHERE tenant_id = ${key.tenant} AND trace_id = ${key.traceId} AND span_count > 0`.execute(tx);
  const [record] = found.rows;
  return record === undefined ? undefined : traceRowFrom(record);
}

async function withEvents(
  tx: Transaction<TraceSchema>,
  key: TraceKey,
  records: readonly SpanRecordRow[],
): Promise<SpanRow[]> {
  const ids = records.map(({ span_id }) => span_id);
  const found =
    ids.length === 0
      ? []
      : (
          await sql<EventRecord>`SELECT span_id, ordinal, time_ns::text, kind, text, attributes FROM span_event
            WHERE tenant_id = ${key.tenant} AND trace_id = ${key.traceId} AND span_id = ANY(${ids}::text[])
            ORDER BY span_id, ordinal`.execute(tx)
        ).rows;
  const events = new Map<string, SpanEvent[]>();
  for (const record of found) {
    const group = events.get(record.span_id);
    if (group === undefined) events.set(record.span_id, [eventFrom(record)]);
    else group.push(eventFrom(record));
  }
  return records.map((record) => ({
    span: spanFrom(record),
    events: events.get(record.span_id) ?? [],
    revision: record.revision,
  }));
}
