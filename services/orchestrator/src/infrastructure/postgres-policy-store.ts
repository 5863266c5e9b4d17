import { DroverError } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { sql } from "kysely";
import type { PolicyRecord, PolicyStore } from "../application/decision-ports.ts";
import type { Policy } from "../domain/policy.ts";
import type { OrchestratorSchema } from "./schema.ts";
import { storableJson } from "./task-rows.ts";

interface PolicyRow {
  readonly name: string;
  readonly priority: number;
  readonly body: Omit<Policy, "name" | "priority">;
  readonly updated_at: Date;
  readonly updated_by: string;
}

/** Policies in Postgres: the body of a rule is JSON, its order stands in columns. */
export function createPostgresPolicyStore(db: Database<OrchestratorSchema>): PolicyStore {
  return {
    async put(tenant, policy, actor, most) {
      const { name, priority, ...body } = policy;
      const parameters = [tenant, name, priority, storableJson(body), actor, most];
      type Row = { outcome: "written" | "full"; updated_at: Date };
      const [row] = await db.callAsService<Row>("put_policy", parameters);
      if (row === undefined) throw new DroverError("INTERNAL", "The database gave no answer.");
      return row.outcome === "full" ? undefined : { policy, updatedAt: row.updated_at, updatedBy: actor };
    },
    async delete(tenant, name) {
      await db.callAsService("delete_policy", [tenant, name]);
    },
    list: (tenant, limit, after) =>
      db.withTenant(tenant, async (tx) => {
        const rest =
          after === undefined
            ? sql`true`
            : sql`(-priority, name COLLATE "C") > (${-after.priority}::integer, ${after.name}::text COLLATE "C")`;
        const { rows } = await sql<PolicyRow>`SELECT * FROM policy WHERE tenant_id = ${tenant} AND ${rest}
          ORDER BY priority DESC, name COLLATE "C" LIMIT ${limit}`.execute(tx);
        return rows.map(recordOf);
      }),
    async read(tenant, known) {
      type Row = { version: number; rules: readonly Policy[] | null };
      const [row] = await db.callAsService<Row>("read_policies", [tenant, known]);
      if (row === undefined) throw new DroverError("INTERNAL", "The database gave no answer.");
      return { version: row.version, policies: row.rules ?? undefined };
    },
  };
}

function recordOf({ name, priority, body, updated_at: updatedAt, updated_by: updatedBy }: PolicyRow): PolicyRecord {
  return { policy: { ...body, name, priority }, updatedAt, updatedBy };
}
