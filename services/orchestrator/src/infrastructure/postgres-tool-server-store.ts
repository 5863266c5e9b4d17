import { DroverError } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { sql } from "kysely";
import type { ToolServerRecord, ToolServerStore } from "../application/tool-source-ports.ts";
import type { ToolServer } from "../domain/tool-server.ts";
import type { OrchestratorSchema } from "./schema.ts";
import { storableJson } from "./task-rows.ts";

interface Row {
  readonly name: string;
  readonly body: Omit<ToolServer, "name">;
  readonly version: number;
  readonly updated_at: Date;
  readonly updated_by: string;
}

/** Tool servers in Postgres: what a row says is JSON, which names secrets and holds none. */
export function createPostgresToolServerStore(db: Database<OrchestratorSchema>): ToolServerStore {
  return {
    async put(tenant, server, { expectedVersion, actor, most }) {
      const { name, ...body } = server;
      type Written = { outcome: "written" | "stale" | "full"; version: number; updated_at: Date };
      const parameters = [tenant, name, storableJson(body), expectedVersion, actor, most];
      const [row] = await db.callAsService<Written>("put_tool_server", parameters);
      if (row === undefined) throw new DroverError("INTERNAL", "The database gave no answer.");
      if (row.outcome !== "written") return { outcome: row.outcome };
      const record = { server, version: row.version, updatedAt: row.updated_at, updatedBy: actor };
      return { outcome: "written", record };
    },
    get: (tenant, name) =>
      db.withTenant(tenant, async (tx) => {
        const { rows } =
          await sql<Row>`SELECT * FROM tool_server WHERE tenant_id = ${tenant} AND name = ${name}`.execute(tx);
        return rows[0] === undefined ? undefined : recordOf(rows[0]);
      }),
    list: (tenant, limit, after) =>
      db.withTenant(tenant, async (tx) => {
        const { rows } = await sql<Row>`SELECT * FROM tool_server WHERE tenant_id = ${tenant}
          AND name COLLATE "C" > ${after}::text COLLATE "C" ORDER BY name COLLATE "C" LIMIT ${limit}`.execute(tx);
        return rows.map(recordOf);
      }),
    async delete(tenant, name) {
      await db.callAsService("delete_tool_server", [tenant, name]);
    },
    async read(tenant, known) {
      type Read = { version: number; servers: readonly ToolServer[] | null };
      const [row] = await db.callAsService<Read>("read_tool_servers", [tenant, known]);
      if (row === undefined) throw new DroverError("INTERNAL", "The database gave no answer.");
      return { version: row.version, servers: row.servers ?? undefined };
    },
  };
}

function recordOf({ name, body, version, updated_at: updatedAt, updated_by: updatedBy }: Row): ToolServerRecord {
  return { server: { ...body, name }, version, updatedAt, updatedBy };
}
