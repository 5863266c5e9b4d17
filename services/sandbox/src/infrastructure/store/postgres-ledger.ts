import { isId } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { sql } from "kysely";
import type { FoundContainer, Ledger } from "../../application/ports.ts";
import { leaseSeconds } from "./postgres-executions.ts";
import type { SandboxSchema } from "./schema.ts";
import { lostResult } from "./write-end.ts";

/** The jobs that see all tenants; nothing else may. */
export const systemJobs = ["lease", "orphans", "strays", "retention"] as const;

/** Which instance this is. */
export interface Instance {
  /** Stable name: two living instances never share it, a restarted one has it again. */
  readonly name: string;
  /** `name/boot`, new at every start. */
  readonly owner: string;
  /** `host:port` where other instances reach it, once that is known; absent for who serves nothing. */
  readonly address?: Promise<string>;
}

const rowsAtOnce = 500;
/** A living instance records the end of a run first and removes its container next. */
const goingSeconds = 3;

/** The instance's jobs over all tenants, in Postgres. */
export class PostgresLedger implements Ledger {
  readonly #db: Database<SandboxSchema>;
  readonly #instance: Instance;
  readonly #retentionDays: number;

  constructor(db: Database<SandboxSchema>, instance: Instance, retentionDays: number) {
    this.#db = db;
    this.#instance = instance;
    this.#retentionDays = retentionDays;
  }

  async renew(): Promise<void> {
    await this.#db.withSystem("lease", async (tx) => {
      // A commit holds the rows of its session and its command: waiting for one with the other in hand is a deadlock.
      const free = tx
        .selectFrom("execution")
        .select(["tenant_id", "id"])
        .where("owner", "=", this.#instance.owner)
        .where("result", "is", null)
        .forUpdate()
        .skipLocked();
      await tx
        .updateTable("execution")
        .set({ lease_until: sql`now() + make_interval(secs => ${leaseSeconds})` })
        .where(({ refTuple }) => sql<boolean>`${refTuple("tenant_id", "id")} in (${free})`)
        .execute();
    });
  }

  async loseOrphans(): Promise<number> {
    const { name, owner } = this.#instance;
    return await this.#db.withSystem("orphans", async (tx) => {
      // What is held is being ended by another instance, or committed; the next round sees which.
      const orphans = tx
        .selectFrom("execution")
        .select(["tenant_id", "id"])
        .where("result", "is", null)
        .where("owner", "!=", owner)
        .where((where) =>
          where.or([where("lease_until", "<", sql<Date>`now()`), where(sql`split_part(owner, '/', 1)`, "=", name)]),
        )
        .forUpdate()
        .skipLocked();
      const ended = await tx
        .updateTable("execution")
        .set({ result: lostResult, ended_at: new Date() })
        .where(({ refTuple }) => sql<boolean>`${refTuple("tenant_id", "id")} in (${orphans})`)
        .returning("id")
        .execute();
      return ended.length;
    });
  }

  async over(containers: readonly FoundContainer[]): Promise<ReadonlySet<string>> {
    const asked = containers.slice(0, rowsAtOnce);
    const ids = asked.map(({ id }) => id);
    const runIds = asked.map(({ runId }) => runId).filter((id) => isId(id));
    if (ids.length === 0) return new Set();
    return await this.#db.withSystem("strays", async (tx) => {
      const rows = await tx
        .selectFrom("execution")
        .select(["id", "container_id"])
        .where("result", "is not", null)
        .where((where) =>
          where.or([
            where("ended_at", "<", sql<Date>`now() - make_interval(secs => ${goingSeconds})`),
            where(sql`result -> 'outcome' ->> 'killedBy'`, "=", "daemon"),
          ]),
        )
        .where((where) =>
          where.or([where("container_id", "in", ids), ...(runIds.length > 0 ? [where("id", "in", runIds)] : [])]),
        )
        .execute();
      const over = new Set(rows.flatMap(({ id, container_id }) => [id, container_id ?? id]));
      return new Set(asked.filter(({ id, runId }) => over.has(id) || over.has(runId)).map(({ id }) => id));
    });
  }

  async expire(): Promise<void> {
    const old = sql<Date>`now() - make_interval(days => ${this.#retentionDays})`;
    await this.#db.withSystem("retention", async (tx) => {
      await tx.deleteFrom("execution").where("result", "is not", null).where("ended_at", "<", old).execute();
      await tx.deleteFrom("cancelled_task").where("cancelled_at", "<", sql<Date>`now() - interval '1 day'`).execute();
      // Longer than a session lives, so that an epoch is never given twice while somebody may still hold it.
      await tx.deleteFrom("session_owner").where("lease_until", "<", sql<Date>`now() - interval '2 days'`).execute();
      await tx.deleteFrom("request_id").where("created_at", "<", old).execute();
      await tx
        .deleteFrom("blob")
        .where("created_at", "<", sql<Date>`now() - interval '1 hour'`)
        .where(({ not, exists, selectFrom }) =>
          not(
            exists(
              selectFrom("workspace_file")
                .select("workspace_file.path")
                .whereRef("workspace_file.tenant_id", "=", "blob.tenant_id")
                .whereRef("workspace_file.sha256", "=", "blob.sha256"),
            ),
          ),
        )
        .execute();
    });
  }
}
