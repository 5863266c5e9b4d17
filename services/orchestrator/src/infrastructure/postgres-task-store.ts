import { DroverError } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { sql } from "kysely";
import type { Claim, CommitOutcome, TaskStore } from "../application/ports.ts";
import type { OrchestratorSchema } from "./schema.ts";
import { callOf, changeJson, eventOf, stepOf, storableJson, taskOf } from "./task-rows.ts";

/** The jobs that see the tasks of every tenant. */
export const systemJobs = ["claim", "reclaim"] as const;

/** The record of tasks in Postgres. A commit is one call of a function of the schema, in one round trip. */
export function createPostgresTaskStore(db: Database<OrchestratorSchema>): TaskStore {
  return {
    async submit(task, request) {
      const { tenant, ...body } = task;
      const rows = await db.callAsService<{ outcome: "created" | "existing" | "conflict"; task_id: string }>(
        "submit_task",
        [tenant, request.id, request.bodyHash, storableJson(body)],
      );
      const row = only(rows);
      return { outcome: row.outcome, taskId: row.task_id };
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
    async cancel(tenant, taskId, actor, reason) {
      type Row = { outcome: "cancelled" | "requested" | "ended" | "not_found"; last_sequence: number };
      const row = only(await db.callAsService<Row>("cancel_task", [tenant, taskId, actor, reason]));
      return { outcome: row.outcome, lastSequence: row.last_sequence };
    },
    claim: (owner, limit, ttlMs) => db.withSystem("claim", (tx) => claimDue(tx, owner, limit, ttlMs)),
    reclaim: (owner) =>
      db.withSystem("reclaim", async (tx) => {
        const result = await sql`UPDATE task SET lease_until = NULL, lease_owner = NULL, next_run_at = now()
          WHERE lease_owner = ${owner} AND state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')`.execute(tx);
        return Number(result.numAffectedRows ?? 0n);
      }),
    async renew({ tenant, taskId, epoch }, ttlMs) {
      const parameters = [tenant, taskId, epoch, ttlMs];
      const [row] = await db.callAsService<{ cancel_requested: boolean }>("renew_lease", parameters);
      return row === undefined ? undefined : { cancelRequested: row.cancel_requested };
    },
    async release({ tenant, taskId, epoch }, delayMs) {
      await db.callAsService("release_lease", [tenant, taskId, epoch, delayMs]);
    },
    load: (claim) => loadHeld(db, claim),
    commit: async ({ tenant, taskId, epoch }, version, change) => {
      const parameters = [tenant, taskId, epoch, version, changeJson(change)];
      return outcomeOf(only(await db.callAsService<CommitRow>("commit_task", parameters)));
    },
  };
}

type Transaction = Parameters<Parameters<Database<OrchestratorSchema>["withSystem"]>[1]>[0];

async function claimDue(tx: Transaction, owner: string, limit: number, ttlMs: number): Promise<Claim[]> {
  const { rows } = await sql<{ tenant_id: string; id: string; lease_epoch: number }>`
    UPDATE task SET lease_epoch = lease_epoch + 1, attempt = attempt + 1, lease_owner = ${owner},
      lease_until = now() + make_interval(secs => ${ttlMs}::float8 / 1000)
    WHERE (tenant_id, id) IN (
      SELECT tenant_id, id FROM task
      WHERE state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED') AND state <> 'WAITING_APPROVAL'
        AND next_run_at <= now() AND (lease_until IS NULL OR lease_until < now())
      ORDER BY next_run_at, id LIMIT ${limit} FOR UPDATE SKIP LOCKED)
    RETURNING tenant_id, id, lease_epoch`.execute(tx);
  return rows.map((row) => ({ tenant: row.tenant_id, taskId: row.id, epoch: row.lease_epoch }));
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

interface CommitRow {
  readonly outcome: "committed" | "fenced" | "cancelled";
  readonly version: number;
  readonly last_sequence: number;
  readonly cancel_requested: boolean;
}

function outcomeOf(row: CommitRow): CommitOutcome {
  if (row.outcome !== "committed") return { outcome: row.outcome };
  return {
    outcome: "committed",
    version: row.version,
    lastSequence: row.last_sequence,
    cancelRequested: row.cancel_requested,
  };
}

function only<Row>(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new DroverError("INTERNAL", "The database gave no answer.");
  return row;
}
