import type { Database } from "@drover/postgres";
import { sql } from "kysely";
import type { AgentStore } from "../application/ports.ts";
import type { Agent, AgentSnapshot } from "../domain/agent.ts";
import type { OrchestratorSchema } from "./schema.ts";
import { storableJson } from "./task-rows.ts";

interface AgentRow {
  readonly name: string;
  readonly body: AgentSnapshot;
  readonly version: number;
  readonly updated_at: Date;
  readonly updated_by: string;
}

/** Agents in Postgres. The same body again is no change and keeps its version. */
export function createPostgresAgentStore(db: Database<OrchestratorSchema>): AgentStore {
  return {
    put: (tenant, { name, body, expectedVersion, updatedBy }) =>
      db.withTenant(tenant, async (tx) => {
        const json = storableJson(body);
        const changed = sql`version = agent.version + (agent.body <> ${json}::jsonb)::int, body = ${json}::jsonb,
          updated_by = CASE WHEN agent.body <> ${json}::jsonb THEN ${updatedBy} ELSE agent.updated_by END,
          updated_at = CASE WHEN agent.body <> ${json}::jsonb THEN now() ELSE agent.updated_at END`;
        const { rows } =
          expectedVersion === 0
            ? await sql<AgentRow>`INSERT INTO agent (tenant_id, name, body, version, updated_by)
                VALUES (${tenant}, ${name}, ${json}::jsonb, 1, ${updatedBy})
                ON CONFLICT (tenant_id, name) DO UPDATE SET ${changed} RETURNING agent.*`.execute(tx)
            : await sql<AgentRow>`UPDATE agent SET ${changed}
                WHERE tenant_id = ${tenant} AND name = ${name} AND version = ${expectedVersion}
                RETURNING agent.*`.execute(tx);
        return rows[0] === undefined ? undefined : agentOfRow(rows[0]);
      }),
    get: (tenant, name) =>
      db.withTenant(tenant, async (tx) => {
        const query = sql<AgentRow>`SELECT * FROM agent WHERE tenant_id = ${tenant} AND name = ${name}`;
        const [row] = (await query.execute(tx)).rows;
        return row === undefined ? undefined : agentOfRow(row);
      }),
    list: (tenant, limit, after) =>
      db.withTenant(tenant, async (tx) => {
        const { rows } = await sql<AgentRow>`SELECT * FROM agent
          WHERE tenant_id = ${tenant} AND name COLLATE "C" > ${after} ORDER BY name COLLATE "C" LIMIT ${limit}`.execute(
          tx,
        );
        return rows.map(agentOfRow);
      }),
    delete: (tenant, name) =>
      db.withTenant(tenant, async (tx) => {
        await sql`DELETE FROM agent WHERE tenant_id = ${tenant} AND name = ${name}`.execute(tx);
      }),
  };
}

function agentOfRow(row: AgentRow): Agent {
  const { name, body, version, updated_at: updatedAt, updated_by: updatedBy } = row;
  return { name, body, version, updatedAt, updatedBy };
}
