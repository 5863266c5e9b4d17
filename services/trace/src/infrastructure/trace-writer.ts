import type { Database } from "@drover/postgres";
import { attr } from "@drover/tracing";
import { sql, type Transaction } from "kysely";
import type { Revision, TraceWriter } from "../application/ports.ts";
import { applyChanges, groupFrames, type TraceChanges, type TraceUpdate } from "../domain/batch.ts";
import type { ReadFacts } from "../domain/fold-trace.ts";
import type { Span, SpanRecord } from "../domain/span.ts";
import type { Trace } from "../domain/trace.ts";
import { type SpanRecordRow, spanColumns, spanFrom, type TraceRecord, traceColumns, traceFrom } from "./rows.ts";
import type { TraceSchema } from "./schema.ts";
import { writeEvents, writePayloads, writeSpans, writeTraces } from "./write-statements.ts";

/** The jobs for which the writer sees every tenant. */
export const systemJobs = { ingest: "ingest", reap: "reap", retain: "retain" } as const;

type Tx = Transaction<TraceSchema>;

/**
 * Writes batches. A batch locks the rows of its traces first, in one order, merges in this process and
 * writes each table with one statement: revisions of a trace are thus committed in their order, and
 * two replicas never wait for each other in a circle.
 */
export function createTraceWriter(
  database: Database<TraceSchema>,
  read: ReadFacts,
  /** Least time between two marks of life of a span, so that a busy one is not written for each of its events. */
  markMs: number,
): TraceWriter {
  return {
    ingest: (frames) => database.withSystem(systemJobs.ingest, (tx) => store(tx, groupFrames(frames), read, markMs)),
    closeSilent: (silence, limit) =>
      database.withSystem(systemJobs.reap, async (tx) => {
        const frames = (await readSilent(tx, silence, limit)).map((record) => ({
          tenant: record.tenant_id,
          traceId: record.trace_id,
          producer: "",
          dropped: 0,
          records: [forcedRecord(record)],
        }));
        return await store(tx, groupFrames(frames), read, undefined);
      }),
    deleteOld: (ageMs, limit) =>
      database.withSystem(systemJobs.retain, async (tx) => {
        const deleted = await sql<{
          tenant_id: string;
          trace_id: string;
        }>`DELETE FROM trace WHERE (tenant_id, trace_id) IN (
          SELECT tenant_id, trace_id FROM trace WHERE changed_at < now() - ${ageMs} * interval '1 millisecond'
          ORDER BY changed_at LIMIT ${limit} FOR UPDATE SKIP LOCKED) RETURNING tenant_id, trace_id`.execute(tx);
        const tenants = deleted.rows.map((row) => row.tenant_id);
        const traces = deleted.rows.map((row) => row.trace_id);
        for (const table of ["span_event", "span_payload"]) {
          await sql`DELETE FROM ${sql.table(table)} WHERE (tenant_id, trace_id) IN (
            SELECT * FROM unnest(${tenants}::text[], ${traces}::text[]))`.execute(tx);
        }
        return deleted.rows.length;
      }),
  };
}

async function store(
  tx: Tx,
  batch: readonly TraceChanges[],
  read: ReadFacts,
  markMs: number | undefined,
): Promise<readonly Revision[]> {
  if (batch.length === 0) return [];
  const traces = await lockTraces(tx, batch);
  const stored = await readSpans(tx, batch);
  const touched = new Set([...(await writeEvents(tx, batch)), ...(await writePayloads(tx, batch))]);
  const updates: { changes: TraceChanges; update: TraceUpdate }[] = [];
  for (const changes of batch) {
    const id = idOf(changes.tenant, changes.traceId);
    const touchedHere = new Set([...changes.spans.keys()].filter((spanId) => touched.has(`${id}/${spanId}`)));
    const before = traces.get(id);
    const update = applyChanges(before, stored.get(id) ?? new Map<string, Span>(), changes, touchedHere, read);
    if (update.trace !== before) updates.push({ changes, update });
  }
  await writeSpans(tx, updates);
  await writeTraces(tx, updates);
  if (markMs !== undefined) await markSeen(tx, batch, markMs);
  return updates.map(({ changes, update }) => ({
    tenant: changes.tenant,
    traceId: changes.traceId,
    revision: update.trace.revision,
  }));
}

/** Makes the rows that are missing and locks all of them, in ascending order. */
async function lockTraces(tx: Tx, batch: readonly TraceChanges[]): Promise<Map<string, Trace>> {
  const tenants = batch.map(({ tenant }) => tenant);
  const traces = batch.map(({ traceId }) => traceId);
  await sql`INSERT INTO trace (tenant_id, trace_id)
    SELECT * FROM unnest(${tenants}::text[], ${traces}::text[]) ON CONFLICT DO NOTHING`.execute(tx);
  const found = await sql<TraceRecord>`SELECT ${sql.raw(traceColumns)} FROM trace
    WHERE (tenant_id, trace_id) IN (SELECT * FROM unnest(${tenants}::text[], ${traces}::text[]))
    ORDER BY tenant_id, trace_id FOR UPDATE`.execute(tx);
  return new Map(found.rows.map((record) => [idOf(record.tenant_id, record.trace_id), traceFrom(record)]));
}

async function readSpans(tx: Tx, batch: readonly TraceChanges[]): Promise<Map<string, Map<string, Span>>> {
  const keys = spanKeys(batch);
  const found = await sql<SpanRecordRow>`SELECT ${sql.raw(spanColumns)} FROM span
    JOIN unnest(${keys.tenants}::text[], ${keys.traces}::text[], ${keys.spans}::text[]) AS k(tenant_id, trace_id, span_id)
    USING (tenant_id, trace_id, span_id)`.execute(tx);
  const spans = new Map<string, Map<string, Span>>();
  for (const record of found.rows) {
    const id = idOf(record.tenant_id, record.trace_id);
    const group = spans.get(id) ?? new Map<string, Span>();
    group.set(record.span_id, spanFrom(record));
    spans.set(id, group);
  }
  return spans;
}

/** A span that a producer speaks of is not lost, even when what it says is known. */
async function markSeen(tx: Tx, batch: readonly TraceChanges[], markMs: number): Promise<void> {
  const keys = spanKeys(batch);
  await sql`UPDATE span SET seen_at = now()
    FROM unnest(${keys.tenants}::text[], ${keys.traces}::text[], ${keys.spans}::text[]) AS k(tenant_id, trace_id, span_id)
    WHERE span.tenant_id = k.tenant_id AND span.trace_id = k.trace_id AND span.span_id = k.span_id
      AND span.state < 3 AND span.seen_at < now() - ${markMs} * interval '1 millisecond'`.execute(tx);
}

interface SilentSpan {
  readonly tenant_id: string;
  readonly trace_id: string;
  readonly span_id: string;
  readonly start_ns: string;
  readonly seen_ns: string;
}

/**
 * Nobody has to live for the wait for an approval, nor for the task that waits: neither is lost by being silent, until
 * the task's end. The key is that of the tracing schema.
 */
const waits = sql`coalesce(span.started_attributes ? ${attr.approvalId} OR span.kind = 'task' AND EXISTS (
  SELECT FROM span wait WHERE wait.tenant_id = span.tenant_id AND wait.trace_id = span.trace_id AND wait.state < 3
    AND wait.started_attributes ? ${attr.approvalId}), false)`;

/** A trace's head has a task state once the task's span has ended by itself. */
async function readSilent(
  tx: Tx,
  { silentMs, settleMs }: { readonly silentMs: number; readonly settleMs: number },
  limit: number,
): Promise<readonly SilentSpan[]> {
  const found = await sql<SilentSpan>`SELECT tenant_id, trace_id, span_id, start_ns::text,
      trunc(extract(epoch FROM seen_at) * 1000000000)::bigint::text AS seen_ns
    FROM span WHERE state < 3 AND (seen_at < now() - ${silentMs} * interval '1 millisecond' AND NOT (${waits})
      OR seen_at < now() - ${settleMs} * interval '1 millisecond' AND EXISTS (
        SELECT FROM trace WHERE trace.tenant_id = span.tenant_id AND trace.trace_id = span.trace_id
          AND head->>'taskState' <> ''))
    ORDER BY seen_at LIMIT ${limit}`.execute(tx);
  return found.rows;
}

function forcedRecord(span: SilentSpan): SpanRecord {
  const startNs = BigInt(span.start_ns);
  const seenNs = BigInt(span.seen_ns);
  return {
    spanId: span.span_id,
    startNs,
    kind: "forced",
    forced: {
      endNs: seenNs > startNs ? seenNs : startNs + 0n,
      reason: "Nothing more was heard of it: its process was lost.",
    },
  };
}

function spanKeys(batch: readonly TraceChanges[]) {
  const keys = { tenants: [] as string[], traces: [] as string[], spans: [] as string[] };
  for (const { tenant, traceId, spans } of batch) {
    for (const spanId of spans.keys()) {
      keys.tenants.push(tenant);
      keys.traces.push(traceId);
      keys.spans.push(spanId);
    }
  }
  return keys;
}

function idOf(tenant: string, traceId: string): string {
  return `${tenant}/${traceId}`;
}
