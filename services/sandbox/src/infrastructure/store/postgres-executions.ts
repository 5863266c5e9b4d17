import type { Database } from "@drover/postgres";
import { sql, type Transaction } from "kysely";
import type { Acceptance, ExecutionStore } from "../../application/ports.ts";
import { type Execution, emptyResult } from "../../domain/execution.ts";
import { outcomeOf } from "../../domain/verdict.ts";
import { acceptedRow, type ExecutionRow, executionOf } from "./execution-row.ts";
import type { SandboxSchema } from "./schema.ts";
import { writeEnd } from "./write-end.ts";

type Tx = Transaction<SandboxSchema>;

const listed = [
  "tenant_id",
  "id",
  "call_id",
  "task_id",
  "language",
  "image",
  "runtime",
  "limits",
  "workspace_id",
  "workspace_version_before",
  "accepted_at",
  "started_at",
  "ended_at",
  "result",
] as const satisfies readonly (keyof ExecutionRow)[];
const whole = [...listed, "stdout_head", "stdout_tail", "stderr_head", "stderr_tail", "compile_output"] as const;

/** How long a running execution belongs to its instance without a sign of life. */
export const leaseSeconds = 30;

/** Executions in Postgres; `owner` is this instance. */
export class PostgresExecutions implements ExecutionStore {
  readonly #db: Database<SandboxSchema>;
  readonly #owner: string;

  constructor(db: Database<SandboxSchema>, owner: string) {
    this.#db = db;
    this.#owner = owner;
  }

  async accept(execution: Execution, bodyHash: string, callMadeAt: number | undefined): Promise<Acceptance> {
    return await this.#db.withTenant(execution.tenant, async (tx) => {
      const inserted = await tx
        .insertInto("execution")
        .values({
          ...acceptedRow(execution),
          body_hash: bodyHash,
          owner: this.#owner,
          lease_until: sql`now() + make_interval(secs => ${leaseSeconds})`,
        })
        .onConflict((conflict) => conflict.columns(["tenant_id", "call_id"]).doNothing())
        .returning("id")
        .executeTakeFirst();
      if (inserted === undefined) return await existing(tx, execution, bodyHash);
      if (!(await wasCancelled(tx, execution, callMadeAt))) return { kind: "new" };
      return { kind: "cancelled", execution: await endCancelled(tx, execution) };
    });
  }

  async withdraw(tenant: string, id: string): Promise<void> {
    await this.#db.withTenant(tenant, async (tx) => {
      await tx
        .deleteFrom("execution")
        .where("tenant_id", "=", tenant)
        .where("id", "=", id)
        .where("result", "is", null)
        .execute();
    });
  }

  async started(tenant: string, id: string, at: Date): Promise<void> {
    await this.#db.withTenant(tenant, async (tx) => {
      await tx
        .updateTable("execution")
        .set({ started_at: at })
        .where("tenant_id", "=", tenant)
        .where("id", "=", id)
        .execute();
    });
  }

  async gotContainer(tenant: string, id: string, containerId: string): Promise<void> {
    await this.#db.withTenant(tenant, async (tx) => {
      await tx
        .updateTable("execution")
        .set({ container_id: containerId })
        .where("tenant_id", "=", tenant)
        .where("id", "=", id)
        .execute();
    });
  }

  async finish(execution: Execution): Promise<void> {
    await this.#db.withTenant(execution.tenant, (tx) => writeEnd(tx, execution));
  }

  async find(
    tenant: string,
    key: { readonly id: string } | { readonly callId: string },
  ): Promise<Execution | undefined> {
    return await this.#db.withTenant(tenant, async (tx) => {
      const query = tx.selectFrom("execution").select(whole).where("tenant_id", "=", tenant);
      const row = await ("id" in key
        ? query.where("id", "=", key.id)
        : query.where("call_id", "=", key.callId)
      ).executeTakeFirst();
      return row === undefined ? undefined : executionOf(row);
    });
  }

  async list(
    tenant: string,
    filter: { readonly taskId: string; readonly after: string | undefined; readonly limit: number },
  ): Promise<readonly Execution[]> {
    return await this.#db.withTenant(tenant, async (tx) => {
      let query = tx.selectFrom("execution").select(listed).where("tenant_id", "=", tenant);
      if (filter.taskId !== "") query = query.where("task_id", "=", filter.taskId);
      if (filter.after !== undefined) query = query.where("id", "<", filter.after);
      return (await query.orderBy("id", "desc").limit(filter.limit).execute()).map(executionOf);
    });
  }

  async rememberCancel(tenant: string, taskId: string): Promise<void> {
    await this.#db.withTenant(tenant, async (tx) => {
      await tx
        .insertInto("cancelled_task")
        .values({ tenant_id: tenant, task_id: taskId, cancelled_at: new Date() })
        .onConflict((conflict) => conflict.columns(["tenant_id", "task_id"]).doUpdateSet({ cancelled_at: new Date() }))
        .execute();
    });
  }
}

async function existing(tx: Tx, execution: Execution, bodyHash: string): Promise<Acceptance> {
  const row = await tx
    .selectFrom("execution")
    .select([...whole, "body_hash"])
    .where("tenant_id", "=", execution.tenant)
    .where("call_id", "=", execution.callId)
    .executeTakeFirstOrThrow();
  return { kind: "existing", execution: executionOf(row), sameBody: row.body_hash === bodyHash };
}

async function wasCancelled(tx: Tx, execution: Execution, callMadeAt: number | undefined): Promise<boolean> {
  if (execution.taskId === "" || callMadeAt === undefined) return false;
  const row = await tx
    .selectFrom("cancelled_task")
    .select("cancelled_at")
    .where("tenant_id", "=", execution.tenant)
    .where("task_id", "=", execution.taskId)
    .executeTakeFirst();
  return row !== undefined && row.cancelled_at.getTime() >= callMadeAt;
}

async function endCancelled(tx: Tx, execution: Execution): Promise<Execution> {
  const outcome = outcomeOf({ killedBy: "cancel", oomSeen: false, wallLimitMs: execution.limits.wallMs });
  const ended = { ...execution, endedAt: new Date(), result: emptyResult(outcome) };
  await writeEnd(tx, ended);
  return ended;
}
