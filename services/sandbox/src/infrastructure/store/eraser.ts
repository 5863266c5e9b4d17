import type { Database } from "@drover/postgres";
import type { Erase, ErasedSubject } from "@drover/rpc";
import { sql, type Transaction } from "kysely";
import type { SandboxSchema } from "./schema.ts";

/** Executions, and workspaces, that one call removes, so that none is long. */
const chunk = 50;

/**
 * Removes executions that have ended, with their output, and workspaces with every content that no other workspace
 * holds: by task and id (of the workspace, or of the request that made it), or all of a tenant. An execution that still runs is there until it has ended: `more` says so.
 */
export function createEraser(database: Database<SandboxSchema>): Erase {
  return (tenant, subject) =>
    database.withTenant(tenant, async (tx) => {
      const executions = await eraseExecutions(tx, tenant, subject);
      const workspaces = await eraseWorkspaces(tx, tenant, subject);
      return {
        removed: executions.removed + workspaces.removed,
        more: executions.more || workspaces.removed === chunk,
      };
    });
}

async function eraseExecutions(
  tx: Transaction<SandboxSchema>,
  tenant: string,
  { taskIds, wholeTenant }: ErasedSubject,
): Promise<{ readonly removed: number; readonly more: boolean }> {
  const tasks = [...taskIds];
  const gone = await sql`DELETE FROM execution WHERE tenant_id = ${tenant} AND id IN (
    SELECT id FROM execution WHERE tenant_id = ${tenant} AND result IS NOT NULL
      AND (${wholeTenant} OR task_id = ANY (${tasks}::text[])) LIMIT ${chunk})`.execute(tx);
  const left = await sql`SELECT FROM execution WHERE tenant_id = ${tenant}
    AND (${wholeTenant} OR task_id = ANY (${tasks}::text[])) LIMIT 1`.execute(tx);
  return { removed: Number(gone.numAffectedRows ?? 0n), more: left.rows.length > 0 };
}

async function eraseWorkspaces(
  tx: Transaction<SandboxSchema>,
  tenant: string,
  { taskIds, workspaceIds, wholeTenant }: ErasedSubject,
): Promise<{ readonly removed: number }> {
  const named = [...workspaceIds];
  const { rows } = await sql<{ id: string }>`SELECT id::text AS id FROM workspace WHERE tenant_id = ${tenant}
    AND (${wholeTenant} OR id::text = ANY (${named}::text[]) OR id::text IN (SELECT response_id FROM request_id
      WHERE tenant_id = ${tenant} AND request_id = ANY (${named}::text[]))) LIMIT ${chunk}`.execute(tx);
  const ids = rows.map(({ id }) => id);
  const contents = await sql<{ sha: string }>`SELECT DISTINCT sha256 AS sha FROM workspace_file
    WHERE tenant_id = ${tenant} AND workspace_id = ANY (${ids}::uuid[]) AND sha256 IS NOT NULL`.execute(tx);
  const shas = contents.rows.map(({ sha }) => sha);
  await sql`DELETE FROM workspace WHERE tenant_id = ${tenant} AND id = ANY (${ids}::uuid[])`.execute(tx);
  await sql`DELETE FROM blob b WHERE b.tenant_id = ${tenant} AND b.sha256 = ANY (${shas}::text[]) AND NOT EXISTS (
    SELECT FROM workspace_file f WHERE f.tenant_id = b.tenant_id AND f.sha256 = b.sha256)`.execute(tx);
  // The other requests of these tasks go last: a workspace that is left may be found by one.
  const requests = ids.length < chunk ? [...taskIds] : [];
  await sql`DELETE FROM request_id WHERE tenant_id = ${tenant} AND (${wholeTenant}
    OR request_id = ANY (${requests}::text[]) OR response_id = ANY (${ids}::text[]))`.execute(tx);
  return { removed: ids.length };
}
