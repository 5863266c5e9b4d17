import type { Database } from "@drover/postgres";
import { sql, type Transaction } from "kysely";
import type { Elsewhere, OwnedTask, Taken } from "../../domain/session-place.ts";
import { leaseSeconds } from "./postgres-executions.ts";
import type { Instance } from "./postgres-ledger.ts";
import type { SandboxSchema } from "./schema.ts";
import { lostResult, runOver } from "./write-end.ts";

type Tx = Transaction<SandboxSchema>;

const lease = sql<Date>`now() + make_interval(secs => ${leaseSeconds})`;

/** The rows that say which instance has a task's sessions, in Postgres. */
export class PostgresOwnerRows {
  readonly #db: Database<SandboxSchema>;
  readonly #instance: Instance;

  constructor(db: Database<SandboxSchema>, instance: Instance) {
    this.#db = db;
    this.#instance = instance;
  }

  async take(tenant: string, taskId: string, create: boolean): Promise<Taken> {
    const { owner } = this.#instance;
    const address = await this.#instance.address;
    return await this.#db.withTenant(tenant, async (tx) => {
      if (create) await insertFree(tx, tenant, taskId);
      const row = await tx
        .selectFrom("session_owner")
        .select(["owner", "address", this.#gone().as("gone")])
        .where("tenant_id", "=", tenant)
        .where("task_id", "=", taskId)
        .forUpdate()
        .executeTakeFirst();
      const another = row !== undefined && row.owner !== "" && row.owner !== owner;
      if (another && !row.gone) return { kind: "there", address: row.address };
      if (!create && !another) return { kind: "nobody" };
      const { epoch } = await tx
        .updateTable("session_owner")
        .set({ owner, address: address ?? "", epoch: sql<number>`epoch + 1`, lease_until: lease })
        .where("tenant_id", "=", tenant)
        .where("task_id", "=", taskId)
        .returning("epoch")
        .executeTakeFirstOrThrow();
      const from = another ? row.owner : "";
      return { kind: "here", epoch, from, lost: another ? await loseCommands(tx, tenant, taskId, from) : 0 };
    });
  }

  async placeOf(
    tenant: string,
    key: { readonly id: string } | { readonly callId: string },
  ): Promise<Elsewhere | { readonly kind: "here" | "dead" }> {
    return await this.#db.withTenant(tenant, async (tx) => {
      const query = tx
        .selectFrom("execution")
        .select(["owner", "owner_address", this.#gone().as("gone")])
        .where("tenant_id", "=", tenant)
        .where("result", "is", null)
        .where("owner", "!=", this.#instance.owner);
      const row = await ("id" in key
        ? query.where("id", "=", key.id)
        : query.where("call_id", "=", key.callId)
      ).executeTakeFirst();
      if (row === undefined) return { kind: "here" };
      if (row.gone) return { kind: "dead" };
      return row.owner_address === "" ? { kind: "here" } : { kind: "there", address: row.owner_address };
    });
  }

  async has({ tenant, taskId, epoch }: OwnedTask): Promise<boolean> {
    return await this.#db.withTenant(tenant, async (tx) => {
      const row = await tx
        .selectFrom("session_owner")
        .select("epoch")
        .where("tenant_id", "=", tenant)
        .where("task_id", "=", taskId)
        .where("owner", "=", this.#instance.owner)
        .where("epoch", "=", epoch)
        .executeTakeFirst();
      return row !== undefined;
    });
  }

  async renew(): Promise<readonly OwnedTask[]> {
    return await this.#db.withSystem("lease", async (tx) => {
      const rows = await tx
        .updateTable("session_owner")
        .set({ lease_until: lease })
        .where("owner", "=", this.#instance.owner)
        .returning(["tenant_id", "task_id", "epoch"])
        .execute();
      return rows.map(({ tenant_id, task_id, epoch }) => ({ tenant: tenant_id, taskId: task_id, epoch }));
    });
  }

  async release({ tenant, taskId, epoch }: OwnedTask): Promise<void> {
    await this.#db.withTenant(tenant, async (tx) => {
      await tx
        .updateTable("session_owner")
        .set({ owner: "", address: "", lease_until: sql<Date>`now()` })
        .where("tenant_id", "=", tenant)
        .where("task_id", "=", taskId)
        .where("owner", "=", this.#instance.owner)
        .where("epoch", "=", epoch)
        .execute();
    });
  }

  /** The lease is over, or it is that of this instance's own process of before. */
  #gone() {
    const { name } = this.#instance;
    return sql<boolean>`lease_until < now() OR split_part(owner, '/', 1) = ${name}`;
  }
}

/**
 * Keeps a task's sessions with their owner of that epoch until the transaction ends. ABORTED (reason RUN_OVER) where
 * another instance, or this one anew, has taken them.
 */
export async function requireEpoch(tx: Tx, tenant: string, taskId: string, epoch: number): Promise<void> {
  const row = await tx
    .selectFrom("session_owner")
    .select("epoch")
    .where("tenant_id", "=", tenant)
    .where("task_id", "=", taskId)
    .where("epoch", "=", epoch)
    .forShare()
    .executeTakeFirst();
  if (row === undefined) throw runOver();
}

async function insertFree(tx: Tx, tenant: string, taskId: string): Promise<void> {
  await tx
    .insertInto("session_owner")
    .values({ tenant_id: tenant, task_id: taskId, owner: "", address: "", epoch: 0, lease_until: sql<Date>`now()` })
    .onConflict((conflict) => conflict.columns(["tenant_id", "task_id"]).doNothing())
    .execute();
}

async function loseCommands(tx: Tx, tenant: string, taskId: string, owner: string): Promise<number> {
  const ended = await tx
    .updateTable("execution")
    .set({ result: lostResult, ended_at: new Date() })
    .where("tenant_id", "=", tenant)
    .where("task_id", "=", taskId)
    .where("owner", "=", owner)
    .where("language", "in", ["session", "shell"])
    .where("result", "is", null)
    .returning("id")
    .execute();
  return ended.length;
}
