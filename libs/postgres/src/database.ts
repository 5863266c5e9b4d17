import { DroverError, invalidField } from "@drover/kernel";
import type { Transaction } from "kysely";
import type pg from "pg";
import { asDatabaseError } from "./database-errors.ts";
import { acquire, createPool } from "./pool.ts";
import { rolesOf } from "./roles.ts";
import { runTransaction } from "./transaction.ts";

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database`. */
  readonly url: string;
  /** The service, which is also its schema and the stem of its roles. */
  readonly service: string;
  /** Most connections for the tenants' transactions. Default 8. */
  readonly poolMax?: number;
  /** Most connections for system jobs. Default 2. */
  readonly systemPoolMax?: number;
  /** The jobs that may see all tenants; {@link Database.withSystem} refuses every other name. */
  readonly systemJobs?: readonly string[];
  /** Longest wait for a connection. Default 5,000 ms. */
  readonly connectTimeoutMs?: number;
  /** Longest run of one statement. Default 30,000 ms. Not enforced by the embedded database, which has one thread. */
  readonly statementTimeoutMs?: number;
  /** Where a connection that broke while idle is told; nothing is lost by it. */
  readonly logger?: { warn(fields: object, message: string): void };
}

/**
 * A service's own schema. Each unit of work is one transaction under one of the service's roles. Failures of the
 * database itself are DroverErrors (UNAVAILABLE, ABORTED, DEADLINE_EXCEEDED); errors of a statement come as `pg` gives
 * them. Never call another service inside a transaction: on the embedded database an open one stops everybody.
 */
export interface Database<Schema> extends AsyncDisposable {
  /** Runs `work` in a transaction that sees and writes the rows of `tenant` only. */
  withTenant<T>(tenant: string, work: (tx: Transaction<Schema>) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /** Runs `work` in a transaction that sees every tenant, for a declared job; PERMISSION_DENIED for another name. */
  withSystem<T>(job: string, work: (tx: Transaction<Schema>) => Promise<T>, signal?: AbortSignal): Promise<T>;
  /**
   * Calls a function of the schema in one round trip, as a transaction of its own, and gives its rows. The function
   * must be SECURITY DEFINER (migrate makes the tenant role its owner) and must set `app.tenant` first.
   */
  callAsService<Row extends object>(name: string, parameters: readonly unknown[], signal?: AbortSignal): Promise<Row[]>;
  /**
   * As {@link callAsService}, for a function that returns one jsonb: its value as it was parsed, numbers in it without a
   * check. The cheapest call there is, because nothing has to be planned: for what is called most.
   */
  callForJson<Value>(name: string, parameters: readonly unknown[], signal?: AbortSignal): Promise<Value>;
  /** Resolves when the database answers; UNAVAILABLE otherwise. */
  ping(signal?: AbortSignal): Promise<void>;
}

const tenantToken = /^[A-Za-z0-9_-]{1,64}$/;
const functionName = /^[a-z_][a-z0-9_]{0,62}$/;

/** Opens a service's database. Nothing is connected before the first use; disposing waits for running work. */
export function openDatabase<Schema>(options: DatabaseOptions): Database<Schema> {
  const { service } = options;
  const roles = rolesOf(service);
  const jobs = new Set(options.systemJobs ?? []);
  const pool = poolFor(options, `drover-${service}`, options.poolMax ?? 8);
  const systemPool = poolFor(options, `drover-${service}-system`, options.systemPoolMax ?? 2);
  const checkedFunctions = new Map<string, Promise<void>>();

  /** The text of a call, once it is known to be guarded. */
  async function callOf(name: string, parameters: readonly unknown[]): Promise<string> {
    if (!functionName.test(name)) throw invalidField("function", JSON.stringify(name), "a plain identifier");
    let checked = checkedFunctions.get(name);
    if (checked === undefined) {
      checked = checkFunction(pool, service, name, roles.tenant);
      checkedFunctions.set(name, checked);
      checked.catch(() => checkedFunctions.delete(name));
    }
    await checked;
    return `${service}.${name}(${parameters.map((_, index) => `$${index + 1}`).join(", ")})`;
  }

  return {
    async withTenant<T>(tenant: string, work: (tx: Transaction<Schema>) => Promise<T>, signal?: AbortSignal) {
      checkTenant(tenant);
      const settings = { role: roles.tenant, schema: service, tenant };
      return await runTransaction<Schema, T>(pool, settings, work, signal);
    },
    async withSystem<T>(job: string, work: (tx: Transaction<Schema>) => Promise<T>, signal?: AbortSignal) {
      if (!jobs.has(job)) {
        throw new DroverError(
          "PERMISSION_DENIED",
          `${JSON.stringify(job)} is not a declared system job of ${service}.`,
        );
      }
      const settings = { role: roles.system, schema: service };
      return await runTransaction<Schema, T>(systemPool, settings, work, signal);
    },
    async callAsService<Row extends object>(name: string, parameters: readonly unknown[], signal?: AbortSignal) {
      const call = await callOf(name, parameters);
      return await queryOnce<Row>(pool, `SELECT * FROM ${call}`, [...parameters], signal);
    },
    async callForJson<Value>(name: string, parameters: readonly unknown[], signal?: AbortSignal) {
      const call = await callOf(name, parameters);
      const [row] = await queryOnce<{ value: Value }>(pool, `SELECT ${call} AS value`, [...parameters], signal);
      if (row === undefined) throw new DroverError("INTERNAL", `${service}.${name} gave no answer.`);
      return row.value;
    },
    async ping(signal) {
      await queryOnce(pool, "SELECT 1", [], signal);
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([pool.end(), systemPool.end()]);
    },
  };
}

function poolFor(options: DatabaseOptions, applicationName: string, max: number): pg.Pool {
  return createPool({
    url: options.url,
    applicationName,
    max,
    connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
    statementTimeoutMs: options.statementTimeoutMs ?? 30_000,
    onError: (error) => options.logger?.warn({ err: error }, "a database connection broke"),
  });
}

function checkTenant(tenant: string): void {
  if (!tenantToken.test(tenant)) {
    throw invalidField("tenant_id", JSON.stringify(tenant.slice(0, 40)), "1 to 64 of A-Z, a-z, 0-9, _ and -");
  }
}

/** One statement on a connection of the pool. An abort closes the connection, so that its answer meets nobody else. */
async function queryOnce<Row extends object>(
  pool: pg.Pool,
  text: string,
  values: unknown[],
  signal: AbortSignal | undefined,
): Promise<Row[]> {
  let broken = false;
  try {
    const client = await acquire(pool, signal);
    const closing = Promise.withResolvers<never>();
    const onAbort = () => closing.reject(signal?.reason);
    signal?.addEventListener("abort", onAbort, { once: true });
    try {
      return (await Promise.race([client.query(text, values), closing.promise])).rows as Row[];
    } finally {
      broken = signal?.aborted ?? false;
      signal?.removeEventListener("abort", onAbort);
      client.release(broken);
    }
  } catch (error) {
    throw broken || signal?.aborted ? DroverError.from(signal?.reason) : asDatabaseError(error);
  }
}

/** A function that did not run as the tenant role would run as the login user, past row-level security. */
async function checkFunction(pool: pg.Pool, service: string, name: string, owner: string): Promise<void> {
  const text = `SELECT p.prosecdef AND r.rolname = $3 AS guarded FROM pg_proc p JOIN pg_roles r ON r.oid = p.proowner
    WHERE p.pronamespace = to_regnamespace($1) AND p.proname = $2`;
  const rows = await queryOnce<{ guarded: boolean }>(pool, text, [service, name, owner], undefined);
  if (rows.length === 0 || rows.some((row) => !row.guarded)) {
    throw new DroverError("INTERNAL", `${service}.${name} is not a SECURITY DEFINER function of ${owner}.`);
  }
}
