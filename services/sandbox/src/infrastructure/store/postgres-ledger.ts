import { isId } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import { sql } from "kysely";
import type { FoundContainer, Ledger } from "../../application/ports.ts";
import { emptyResult } from "../../domain/execution.ts";
import { outcomeOf } from "../../domain/verdict.ts";
import { leaseSeconds } from "./postgres-executions.ts";
import type { SandboxSchema } from "./schema.ts";

/** The jobs that see all tenants; nothing else may. */
export const systemJobs = ["lease", "orphans", "strays", "retention"] as const;

/** Which instance this is. */
export interface Instance {
  /** Stable name: two living instances never share it, a restarted one has it again. */
  readonly name: string;
  /** `name/boot`, new at every start. */
  readonly owner: string;
}

const rowsAtOnce = 500;

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
      await tx
        .updateTable("execution")
        .set({ lease_until: sql`now() + make_interval(secs => ${leaseSeconds})` })
        .where("owner", "=", this.#instance.owner)
        .where("result", "is", null)
        .execute();
    });
  }

  async loseOrphans(): Promise<number> {
    const { name, owner } = this.#instance;
    const lost = "The sandbox service was restarted or lost while the program ran.";
    const outcome = outcomeOf({ killedBy: "", oomSeen: false, wallLimitMs: 0, lost });
    return await this.#db.withSystem("orphans", async (tx) => {
      const ended = await tx
        .updateTable("execution")
        .set({ result: JSON.stringify(emptyResult({ ...outcome, killedBy: "daemon" })), ended_at: new Date() })
        .where("result", "is", null)
        .where("owner", "!=", owner)
        .where((where) =>
          where.or([where("lease_until", "<", sql<Date>`now()`), where(sql`split_part(owner, '/', 1)`, "=", name)]),
        )
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
