import type { Database } from "@drover/postgres";
import type { Erase } from "@drover/rpc";
import { sql } from "kysely";
import type { RagSchema } from "./schema.ts";

/** Documents that one call removes, so that none is long. */
const chunk = 20;

/** Removes a tenant's documents with their chunks and originals. Documents are the tenant's: nothing is kept by task or subject. */
export function createEraser(database: Database<RagSchema>): Erase {
  return async (tenant, { wholeTenant }) => {
    if (!wholeTenant) return { removed: 0, more: false };
    return await database.withTenant(tenant, async (tx) => {
      const { rows } = await sql<{ blob: string | null }>`DELETE FROM document WHERE tenant_id = ${tenant}
        AND document_id IN (SELECT document_id FROM document WHERE tenant_id = ${tenant} LIMIT ${chunk})
        RETURNING blob_id AS blob`.execute(tx);
      const blobs = rows.flatMap(({ blob }) => blob ?? []);
      await sql`DELETE FROM blob WHERE tenant_id = ${tenant} AND id = ANY (${blobs}::text[])`.execute(tx);
      const more = rows.length === chunk;
      if (!more) {
        await sql`DELETE FROM collection c WHERE tenant_id = ${tenant} AND NOT EXISTS (SELECT FROM document d
          WHERE d.tenant_id = c.tenant_id AND d.collection = c.name)`.execute(tx);
        await sql`DELETE FROM deleted_document WHERE tenant_id = ${tenant}`.execute(tx);
      }
      return { removed: rows.length, more };
    });
  };
}
