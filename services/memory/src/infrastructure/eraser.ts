import type { Database } from "@drover/postgres";
import type { Erase } from "@drover/rpc";
import { sql } from "kysely";
import type { MemorySchema } from "./schema.ts";

/** Conversations that one call removes, so that none is long. */
const chunk = 20;

/** Removes conversations with their messages, spills and the spills' bodies: by id, by who began them, or all. */
export function createEraser(database: Database<MemorySchema>): Erase {
  return (tenant, { conversationIds, subject, wholeTenant }) =>
    database.withTenant(tenant, async (tx) => {
      const { rows } = await sql<{ id: string }>`SELECT conversation_id AS id FROM conversation
        WHERE tenant_id = ${tenant} AND (${wholeTenant} OR conversation_id = ANY (${[...conversationIds]}::text[])
          OR (${subject} <> '' AND subject = ${subject}))
        ORDER BY conversation_id LIMIT ${chunk} FOR UPDATE`.execute(tx);
      const ids = rows.map(({ id }) => id);
      const bodies = await sql<{ id: string }>`DELETE FROM spill
        WHERE tenant_id = ${tenant} AND conversation_id = ANY (${ids}::text[]) RETURNING blob_id AS id`.execute(tx);
      const blobs = bodies.rows.map(({ id }) => id);
      await sql`DELETE FROM blob WHERE tenant_id = ${tenant} AND id = ANY (${blobs}::text[])`.execute(tx);
      await sql`DELETE FROM conversation WHERE tenant_id = ${tenant} AND conversation_id = ANY (${ids}::text[])`.execute(
        tx,
      );
      return { removed: ids.length + blobs.length, more: ids.length === chunk };
    });
}
