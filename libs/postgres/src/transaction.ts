import { DroverError } from "@drover/kernel";
import {
  CompiledQuery,
  type DatabaseConnection,
  Kysely,
  PostgresDialect,
  PostgresDriver,
  type Transaction,
} from "kysely";
import type pg from "pg";
import { asDatabaseError } from "./database-errors.ts";
import { acquire } from "./pool.ts";

/** What a transaction is, before its first statement. */
export interface TransactionSettings {
  readonly role: string;
  /** First schema of the search path; `public`, where extensions live, is the second. */
  readonly schema: string;
  /** The value of `app.tenant`, which the policies compare with. Without it no row of a tenant table is visible. */
  readonly tenant?: string;
}

/**
 * Runs `work` in one transaction on one connection. Role, schema and tenant travel with BEGIN in one round trip. A
 * throw rolls back. An abort rolls back and ends the wait at once by closing the connection under a running statement;
 * an abort after COMMIT was sent changes nothing.
 */
export async function runTransaction<Schema, T>(
  pool: pg.Pool,
  settings: TransactionSettings,
  work: (tx: Transaction<Schema>) => Promise<T>,
  signal?: AbortSignal,
): Promise<T> {
  let failure: unknown;
  try {
    const client = await acquire(pool, signal);
    const release = onlyOnce((destroy: boolean) => client.release(destroy));
    const onAbort = () => release(true);
    signal?.addEventListener("abort", onAbort, { once: true });
    const kysely = new Kysely<Schema>({ dialect: new OneConnectionDialect(client, release, preludeOf(settings)) });
    try {
      return await kysely.transaction().execute(async (tx) => {
        try {
          const result = await work(tx);
          if (signal?.aborted) throw signal.reason;
          return result;
        } catch (error) {
          failure = error;
          throw error;
        }
      });
    } finally {
      signal?.removeEventListener("abort", onAbort);
      release(true);
    }
  } catch (error) {
    if (signal?.aborted) throw DroverError.from(signal.reason);
    throw asDatabaseError(failure ?? error);
  }
}

function preludeOf({ role, schema, tenant }: TransactionSettings): string {
  const settings = [`SET LOCAL ROLE ${role}`, `SET LOCAL search_path TO ${schema}, public`];
  // The tenant was checked against the token alphabet, so it cannot end the literal.
  if (tenant !== undefined) settings.push(`SET LOCAL app.tenant TO '${tenant}'`);
  return ["BEGIN", ...settings].join("; ");
}

class OneConnectionDialect extends PostgresDialect {
  readonly #client: pg.PoolClient;
  readonly #release: (destroy: boolean) => void;
  readonly #prelude: string;

  constructor(client: pg.PoolClient, release: (destroy: boolean) => void, prelude: string) {
    super({ pool: poolOf(client, release) });
    this.#client = client;
    this.#release = release;
    this.#prelude = prelude;
  }

  override createDriver(): PostgresDriver {
    return new PreludeDriver(this.#client, this.#release, this.#prelude);
  }
}

class PreludeDriver extends PostgresDriver {
  readonly #prelude: string;

  constructor(client: pg.PoolClient, release: (destroy: boolean) => void, prelude: string) {
    super({ pool: poolOf(client, release) });
    this.#prelude = prelude;
  }

  override async beginTransaction(connection: DatabaseConnection): Promise<void> {
    await connection.executeQuery(CompiledQuery.raw(this.#prelude));
  }
}

function poolOf(client: pg.PoolClient, release: (destroy: boolean) => void) {
  const facade = {
    query: client.query.bind(client) as pg.PoolClient["query"],
    release: (error?: Error | boolean) => release(Boolean(error)),
  };
  return { connect: async () => facade as never, end: async () => {}, options: {} };
}

function onlyOnce<A>(action: (argument: A) => void): (argument: A) => void {
  let done = false;
  return (argument) => {
    if (done) return;
    done = true;
    action(argument);
  };
}
