import type { Database } from "@drover/postgres";
import type { Erase } from "@drover/rpc";
import { sql } from "kysely";
import type { TraceSchema } from "./schema.ts";

/** Traces that one call removes, so that none is long. */
const chunk = 50;

/** Removes traces with their spans, events and payloads: by id, by task, or all of a tenant. */
export function createEraser(database: Database<TraceSchema>): Erase {
  return (tenant, { traceIds, taskIds, wholeTenant }) =>
    database.withTenant(tenant, async (tx) => {
      const { rows } = await sql<{ id: string }>`DELETE FROM trace WHERE tenant_id = ${tenant} AND trace_id IN (
        SELECT trace_id FROM trace WHERE tenant_id = ${tenant} AND (${wholeTenant}
          OR trace_id = ANY (${[...traceIds]}::text[]) OR task_id = ANY (${[...taskIds]}::text[])) LIMIT ${chunk})
        RETURNING trace_id AS id`.execute(tx);
      const ids = rows.map(({ id }) => id);
      for (const table of ["span_event", "span_payload"]) {
        await sql`DELETE FROM ${sql.table(table)}
          WHERE tenant_id = ${tenant} AND trace_id = ANY (${ids}::text[])`.execute(tx);
      }
      return { removed: ids.length, more: ids.length === chunk };
    });
}
