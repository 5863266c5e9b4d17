import { DroverError } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { sql } from "kysely";
import type { Claim, CommitOutcome, SubmitOutcome, TaskStore } from "../application/ports.ts";
import { unlessPurged } from "./purge-refusal.ts";
import type { OrchestratorSchema } from "./schema.ts";
import { callOf, changeJson, eventOf, stepOf, storableJson, taskOf } from "./task-rows.ts";

/** The jobs that see the tasks of every tenant. */
export const systemJobs = ["claim", "reclaim", "expire"] as const;

/** The record of tasks in Postgres. A commit is one call of a function of the schema, in one round trip. */
export function createPostgresTaskStore(db: Database<OrchestratorSchema>): TaskStore {
  return {
    async submit(task, request, maxQueued) {
      const { tenant, ...body } = task;
      const parameters = [tenant, request.method, request.id, request.bodyHash, storableJson(body), maxQueued];
      return submitOutcomeOf(only(await unlessPurged(db.callAsService<SubmitRow>("submit_task", parameters))));
    },
    get: (tenant, taskId) =>
      db.withTenant(tenant, async (tx) => {
        const row = await tx
          .selectFrom("task")
          .selectAll()
          .where("tenant_id", "=", tenant)
          .where("id", "=", taskId)
          .executeTakeFirst();
        return row === undefined ? undefined : taskOf(row);
      }),
    list: (tenant, states, limit, before) =>
      db.withTenant(tenant, async (tx) => {
        let query = tx.selectFrom("task").selectAll().where("tenant_id", "=", tenant);
        if (states.length > 0) query = query.where("state", "in", [...states]);
        if (before !== undefined) query = query.where("id", "<", before);
        return (await query.orderBy("id", "desc").limit(limit).execute()).map(taskOf);
      }),
    events: (tenant, taskId, after, limit) =>
      db.withTenant(tenant, async (tx) => {
        const rows = await tx
          .selectFrom("event")
          .selectAll()
          .where("tenant_id", "=", tenant)
          .where("task_id", "=", taskId)
          .where("sequence", ">", after)
          .orderBy("sequence")
          .limit(limit)
          .execute();
        return rows.map(eventOf);
      }),
    async cancel(tenant, taskId, { actor, reason, expectedVersion }) {
      type Row = { outcome: "cancelled" | "requested" | "ended" | "stale" | "not_found"; last_sequence: number };
      const row = only(await db.callAsService<Row>("cancel_task", [tenant, taskId, actor, reason, expectedVersion]));
      return { outcome: row.outcome, lastSequence: row.last_sequence };
    },
    claim: (owner, { limit, ttlMs, perTenant, maxIdle }) =>
      db.withSystem("claim", async (tx) => {
        const { rows } = await sql<{ tenant_id: string; task_id: string; lease_epoch: number }>`
          SELECT * FROM claim_tasks(${owner}, ${limit}, ${ttlMs}, ${perTenant}, ${maxIdle})`.execute(tx);
        return rows.map((row) => ({ tenant: row.tenant_id, taskId: row.task_id, epoch: row.lease_epoch }));
      }),
    reclaim: (owner) =>
      db.withSystem("reclaim", async (tx) => {
        const result = await sql`UPDATE task SET lease_until = NULL, lease_owner = NULL, next_run_at = now()
          WHERE lease_owner = ${owner} AND state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')`.execute(tx);
        return Number(result.numAffectedRows ?? 0n);
      }),
    async renew({ tenant, taskId, epoch }, ttlMs) {
      const parameters = [tenant, taskId, epoch, ttlMs];
      type Row = { cancel_requested: boolean; wall_ms_used: number };
      const [row] = await db.callAsService<Row>("renew_lease", parameters);
      return row === undefined ? undefined : { cancelRequested: row.cancel_requested, wallMsUsed: row.wall_ms_used };
    },
    async release({ tenant, taskId, epoch }, delayMs) {
      await db.callAsService("release_lease", [tenant, taskId, epoch, delayMs]);
    },
    load: (claim) => loadHeld(db, claim),
    commit: async ({ tenant, taskId, epoch }, version, change) => {
      const parameters = [tenant, taskId, epoch, version, changeJson(change)];
      return await db.callForJson<CommitOutcome>("commit_task", parameters);
    },
  };
}

interface SubmitRow {
  readonly outcome: SubmitOutcome["outcome"];
  readonly task_id: string;
  readonly interrupted: readonly string[];
}

function submitOutcomeOf({ outcome, task_id: taskId, interrupted }: SubmitRow): SubmitOutcome {
  if (outcome === "created") return { outcome, taskId, interrupted };
  return outcome === "full" ? { outcome } : { outcome, taskId };
}

async function loadHeld(db: Database<OrchestratorSchema>, { tenant, taskId, epoch }: Claim) {
  return await db.withTenant(tenant, async (tx) => {
    const row = await tx
      .selectFrom("task")
      .selectAll()
      .where("tenant_id", "=", tenant)
      .where("id", "=", taskId)
      .where("lease_epoch", "=", epoch)
      .executeTakeFirst();
    if (row === undefined) return undefined;
    const steps = await tx
      .selectFrom("step")
      .selectAll()
      .where("tenant_id", "=", tenant)
      .where("task_id", "=", taskId)
      .orderBy("seq")
      .execute();
    const calls = await tx
      .selectFrom("tool_call")
      .selectAll()
      .where("tenant_id", "=", tenant)
      .where("task_id", "=", taskId)
      .orderBy("step_seq")
      .orderBy("ordinal")
      .execute();
    return { task: taskOf(row), log: { steps: steps.map(stepOf), calls: calls.map(callOf) } };
  });
}

function only<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new DroverError("INTERNAL", "The database gave no answer.");
  return row;
}
