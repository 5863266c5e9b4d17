import { DroverError } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { type RawBuilder, sql, type Transaction } from "kysely";
import type { OpenPart, PurgeClaim, PurgeStore } from "../application/purge-ports.ts";
import type { PurgePart } from "../domain/purge.ts";
import type { OrchestratorSchema } from "./schema.ts";

/** The job that sees the removals of every tenant. */
export const purgeJobs = ["purge"] as const;

type Tx = Transaction<OrchestratorSchema>;

/** Removals in Postgres. A claim lasts for `ttlMs` after each write. */
export function createPostgresPurgeStore(db: Database<OrchestratorSchema>, ttlMs: number): PurgeStore {
  /** Runs `work` in a transaction that begins by holding the claim. */
  const holding = <T>(claim: PurgeClaim, work: (tx: Tx) => Promise<T>): Promise<T> =>
    db.withTenant(claim.tenant, async (tx) => {
      const { rows } = await sql<{ held: boolean }>`
        SELECT hold_purge(${claim.tenant}, ${claim.id}, ${claim.epoch}, ${ttlMs}) AS held`.execute(tx);
      if (rows[0]?.held !== true) throw leaseLost();
      return await work(tx);
    });
  return {
    async begin({ tenant, ...purge }) {
      type Row = { outcome: "created" | "existing" | "conflict"; id: string };
      const [row] = await db.callAsService<Row>("begin_purge", [tenant, JSON.stringify(purge)]);
      if (row === undefined) throw new DroverError("INTERNAL", "The database gave no answer.");
      return row;
    },
    get: (tenant, purgeId) => db.withTenant(tenant, (tx) => purgeIn(tx, tenant, purgeId)),
    claim: (owner) => db.withSystem("purge", (tx) => claimIn(tx, owner, ttlMs)),
    living: (claim, limit) =>
      holding(claim, async (tx) => {
        const { rows } = await sql<{ id: string; count: number }>`SELECT k.id, count(*) OVER () AS count FROM task k
          WHERE k.tenant_id = ${claim.tenant} AND k.state NOT IN ('SUCCEEDED', 'FAILED', 'CANCELLED')
            AND ${isTarget(claim, sql`k.id`)} ORDER BY k.id LIMIT ${limit}`.execute(tx);
        return { taskIds: rows.map(({ id }) => id), count: rows[0]?.count ?? 0 };
      }),
    settle: (claim, settleMs) => holding(claim, (tx) => settleIn(tx, claim, settleMs)),
    open: (claim) =>
      holding(claim, async (tx) => {
        const { rows } = await sql<Omit<OpenPart, "position"> & { position: string | null }>`
          SELECT service, done, removed, problem, passes, found, position, failures, next_at <= now() AS due
          FROM purge_part WHERE tenant_id = ${claim.tenant} AND purge_id = ${claim.id} AND NOT done
            AND service <> 'orchestrator' ORDER BY service`.execute(tx);
        return rows.map(({ position, ...row }) => ({ ...row, position: position ?? undefined }));
      }),
    targets: (claim, after, limit) => holding(claim, (tx) => targetsIn(tx, claim, after, limit)),
    record: (claim, step) =>
      holding(claim, async (tx) => {
        const { done, passes, found, position, failures, problem, removed, waitMs } = step;
        await sql`UPDATE purge_part SET done = ${done}, passes = ${passes}, found = ${found},
            position = ${position ?? null}, failures = ${failures}, problem = ${problem},
            removed = removed + ${removed}, next_at = ${later(waitMs)}
          WHERE tenant_id = ${claim.tenant} AND purge_id = ${claim.id} AND service = ${step.service}`.execute(tx);
      }),
    explain: (claim, problem) =>
      holding(claim, async (tx) => {
        await sql`UPDATE purge_part SET problem = ${problem} WHERE tenant_id = ${claim.tenant}
          AND purge_id = ${claim.id} AND service = 'orchestrator'`.execute(tx);
      }),
    async removeOwn({ tenant, id, epoch }, limit) {
      type Row = { held: boolean; complete: boolean };
      const [row] = await db.callAsService<Row>("purge_own", [tenant, id, epoch, ttlMs, limit]);
      if (row?.held !== true) throw leaseLost();
      return row.complete;
    },
    release: (claim, delayMs) => holding(claim, (tx) => releaseIn(tx, claim, delayMs)),
    forget: (days) =>
      db.withSystem("purge", async (tx) => {
        await sql`DELETE FROM purge WHERE completed_at < now() - make_interval(days => ${days})`.execute(tx);
      }),
  };
}

function leaseLost(): DroverError {
  return new DroverError("ABORTED", "Another replica goes on with this removal.", { reason: "LEASE_LOST" });
}

function later(ms: number): RawBuilder<Date> {
  return sql<Date>`now() + make_interval(secs => ${ms / 1_000})`;
}

/** Whether a task belongs to the subject: no new one can, since the removal was recorded. */
function isTarget({ tenant, id, kind }: PurgeClaim, task: RawBuilder<unknown>): RawBuilder<boolean> {
  if (kind === "tenant") return sql<boolean>`true`;
  return sql<boolean>`EXISTS (SELECT FROM purge_target x WHERE x.tenant_id = ${tenant} AND x.purge_id = ${id}
    AND x.task_id = ${task})`;
}

async function purgeIn(tx: Tx, tenant: string, purgeId: string) {
  type Row = { requested_by: string; requested_at: Date; completed_at: Date | null };
  const found = await sql<Row>`SELECT requested_by, requested_at, completed_at FROM purge
    WHERE tenant_id = ${tenant} AND id = ${purgeId}`.execute(tx);
  const [row] = found.rows;
  if (row === undefined) return undefined;
  const parts = await sql<PurgePart>`SELECT service, done, removed, problem FROM purge_part
    WHERE tenant_id = ${tenant} AND purge_id = ${purgeId}
    ORDER BY array_position(ARRAY['orchestrator', 'sandbox', 'memory', 'rag', 'trace'], service)`.execute(tx);
  return {
    ...{ id: purgeId, requestedBy: row.requested_by, requestedAt: row.requested_at },
    completedAt: row.completed_at ?? undefined,
    parts: parts.rows,
  };
}

async function claimIn(tx: Tx, owner: string, ttlMs: number): Promise<PurgeClaim | undefined> {
  const { rows } = await sql<PurgeClaim>`
    UPDATE purge p SET lease_owner = ${owner}, lease_until = ${later(ttlMs)}, lease_epoch = p.lease_epoch + 1
    WHERE (p.tenant_id, p.id) IN (SELECT d.tenant_id, d.id FROM purge d WHERE d.completed_at IS NULL
        AND d.next_run_at <= now() AND (d.lease_until IS NULL OR d.lease_until <= now() OR d.lease_owner = ${owner})
      ORDER BY d.next_run_at LIMIT 1 FOR UPDATE SKIP LOCKED)
    RETURNING p.tenant_id AS tenant, p.id, p.lease_epoch AS epoch, p.kind, p.subject,
      p.requested_by AS "requestedBy"`.execute(tx);
  return rows[0];
}

/**
 * With the targets the workspaces are fixed: tasks get theirs while they run. One that was made and not recorded is found
 * by its task, whose id is the request id that made it; nobody else can know it.
 */
async function settleIn(tx: Tx, claim: PurgeClaim, settleMs: number): Promise<number> {
  const { tenant, id } = claim;
  const known =
    await sql`SELECT FROM purge WHERE tenant_id = ${tenant} AND id = ${id} AND settled_at IS NOT NULL`.execute(tx);
  if (known.rows.length > 0) return 0;
  // Nothing is learnt any more from what goes.
  await sql`UPDATE after_task a SET state = 'WITHDRAWN', epoch = a.epoch + 1
    WHERE a.tenant_id = ${tenant} AND a.state = 'DUE' AND ${isTarget(claim, sql`a.task_id`)}`.execute(tx);
  const { rows } = await sql<{ wait: number | null }>`
    SELECT ceil(${settleMs}::int - extract(epoch FROM now() - max(k.ended_at)) * 1000)::int AS wait FROM task k
    WHERE k.tenant_id = ${tenant} AND k.ended_at > now() - make_interval(secs => ${settleMs / 1_000})
      AND ${isTarget(claim, sql`k.id`)}`.execute(tx);
  const wait = rows[0]?.wait ?? 0;
  if (wait > 0) return wait;
  await sql`UPDATE purge_target x SET workspace_id = coalesce(k.workspace_id, k.id) FROM task k
    WHERE x.tenant_id = ${tenant} AND x.purge_id = ${id} AND k.tenant_id = x.tenant_id AND k.id = x.task_id
      AND NOT EXISTS (SELECT FROM task o WHERE o.tenant_id = k.tenant_id AND o.workspace_id = k.workspace_id
        AND NOT ${isTarget(claim, sql`o.id`)})`.execute(tx);
  await sql`UPDATE purge SET settled_at = now() WHERE tenant_id = ${tenant} AND id = ${id}`.execute(tx);
  await sql`UPDATE purge_part SET problem = '' WHERE tenant_id = ${tenant} AND purge_id = ${id}
    AND service = 'orchestrator'`.execute(tx);
  return 0;
}

async function targetsIn(tx: Tx, { tenant, id }: PurgeClaim, after: string | undefined, limit: number) {
  const { rows } = await sql<{ task: string; workspace: string | null; trace: string }>`
    SELECT task_id AS task, workspace_id AS workspace, trace_id AS trace FROM purge_target
    WHERE tenant_id = ${tenant} AND purge_id = ${id} AND (${after ?? null}::uuid IS NULL OR task_id > ${after ?? null})
    ORDER BY task_id LIMIT ${limit}`.execute(tx);
  return {
    taskIds: rows.map(({ task }) => task),
    workspaceIds: [...new Set(rows.flatMap(({ workspace }) => workspace ?? []))],
    traceIds: rows.map(({ trace }) => trace),
    position: rows.at(-1)?.task,
    last: rows.length < limit,
  };
}

async function releaseIn(tx: Tx, { tenant, id }: PurgeClaim, delayMs: number | undefined): Promise<void> {
  const due =
    delayMs === undefined
      ? sql`(SELECT coalesce(min(x.next_at), now()) FROM purge_part x WHERE x.tenant_id = ${tenant}
          AND x.purge_id = ${id} AND NOT x.done AND x.service <> 'orchestrator')`
      : later(delayMs);
  await sql`UPDATE purge SET lease_owner = NULL, lease_until = NULL, lease_epoch = lease_epoch + 1, next_run_at = ${due}
    WHERE tenant_id = ${tenant} AND id = ${id}`.execute(tx);
}
