import type { Database } from "@drover/postgres";
import { sql } from "kysely";
import type { AfterTasks } from "../application/after-task-ports.ts";
import type { OrchestratorSchema } from "./schema.ts";
import { storableJson } from "./task-rows.ts";

/** The job that takes up what is due of every tenant. */
export const afterTaskJobs = ["claim_after_tasks"] as const;

/** What is to be done after tasks' ends, in Postgres. */
export function createPostgresAfterTasks(db: Database<OrchestratorSchema>): AfterTasks {
  return {
    claim: ({ limit, leaseMs, attempts }) =>
      db.withSystem("claim_after_tasks", async (tx) => {
        type Row = { tenant: string; taskId: string; epoch: number; attempt: number };
        const { rows } = await sql<Row>`SELECT tenant_id AS tenant, task_id AS "taskId", epoch, attempt
          FROM claim_after_tasks(${limit}, ${leaseMs}, ${attempts})`.execute(tx);
        return rows;
      }),
    async finish({ tenant, taskId, epoch }, { state, outcome, problem, usage }) {
      const spent = usage === undefined ? null : storableJson(usage);
      const parameters = [tenant, taskId, epoch, state, outcome, problem, spent];
      const [row] = await db.callAsService<{ finished: boolean }>("finish_after_task", parameters);
      return row?.finished === true;
    },
    async retry({ tenant, taskId, epoch }, delayMs, problem) {
      await db.callAsService("retry_after_task", [tenant, taskId, epoch, delayMs, problem]);
    },
  };
}
