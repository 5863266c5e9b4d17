import type { Database } from "@drover/postgres";
import type { Erase } from "@drover/rpc";
import { sql } from "kysely";
import type { MemorySchema } from "./schema.ts";

/** Conversations that one call removes, so that none is long. */
const chunk = 20;

/**
 * Removes conversations with their messages, spills, the spills' bodies and the facts that came from them (all versions
 * of a fact, because a later one may still tell of an earlier): by id, by who began them, or all. What somebody has
 * forgotten is kept as a hash until that person's or the whole tenant's data go.
 */
export function createEraser(database: Database<MemorySchema>): Erase {
  return (tenant, { conversationIds, subject, wholeTenant }) =>
    database.withTenant(tenant, async (tx) => {
      const { rows } = await sql<{ id: string }>`SELECT conversation_id AS id FROM conversation
        WHERE tenant_id = ${tenant} AND (${wholeTenant} OR conversation_id = ANY (${[...conversationIds]}::text[])
          OR (${subject} <> '' AND subject = ${subject}))
        ORDER BY conversation_id LIMIT ${chunk} FOR UPDATE`.execute(tx);
      const ids = rows.map(({ id }) => id);
      const facts = await sql`DELETE FROM fact WHERE tenant_id = ${tenant} AND line_id IN (SELECT f.line_id FROM fact f
        WHERE f.tenant_id = ${tenant} AND f.conversation_id = ANY (${ids}::text[]))`.execute(tx);
      const bodies = await sql<{ id: string }>`DELETE FROM spill
        WHERE tenant_id = ${tenant} AND conversation_id = ANY (${ids}::text[]) RETURNING blob_id AS id`.execute(tx);
      const blobs = bodies.rows.map(({ id }) => id);
      await sql`DELETE FROM blob WHERE tenant_id = ${tenant} AND id = ANY (${blobs}::text[])`.execute(tx);
      await sql`DELETE FROM conversation WHERE tenant_id = ${tenant} AND conversation_id = ANY (${ids}::text[])`.execute(
        tx,
      );
      const more = ids.length === chunk;
      const tombs = sql`DELETE FROM fact_tombstone
        WHERE tenant_id = ${tenant} AND (${wholeTenant} OR (${subject} <> '' AND subject = ${subject}))`;
      const forgotten = more ? 0 : Number((await tombs.execute(tx)).numAffectedRows ?? 0);
      return { removed: ids.length + blobs.length + Number(facts.numAffectedRows ?? 0) + forgotten, more };
    });
}
