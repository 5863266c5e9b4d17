import { DroverError, throwIfAborted } from "@drover/kernel";
import pg from "pg";

/** How connections of one pool behave; the times are milliseconds. */
export interface PoolOptions {
  readonly url: string;
  readonly applicationName: string;
  readonly max: number;
  /** Longest wait for a connection, be it a new one or one of the pool. */
  readonly connectTimeoutMs: number;
  /** Longest run of one statement; also twice this is the longest a transaction may lie idle. */
  readonly statementTimeoutMs: number;
  /** Hears of connections that broke while nobody used them. */
  readonly onError: (error: Error) => void;
}

const int8 = 20;
const int8Array = 1016;
/** The types of `pg` list a part of the object ids only. */
const parserOf = pg.types.getTypeParser as (oid: number, format: "text" | "binary") => (text: string) => unknown;

/** Makes a pool whose idle connections may break without harm. It connects at the first use. */
export function createPool(options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString: options.url,
    application_name: options.applicationName,
    max: options.max,
    connectionTimeoutMillis: options.connectTimeoutMs,
    statement_timeout: options.statementTimeoutMs,
    idle_in_transaction_session_timeout: 2 * options.statementTimeoutMs,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    types: { getTypeParser },
  });
  pool.on("error", options.onError);
  // A connection that breaks between two statements of a transaction emits here as well as failing the next statement.
  pool.on("connect", (client) => client.on("error", options.onError));
  return pool;
}

/** A connection of the pool. An abort ends the wait; a connection that arrives after it goes back to the pool. */
export async function acquire(pool: pg.Pool, signal: AbortSignal | undefined): Promise<pg.PoolClient> {
  throwIfAborted(signal);
  const connecting = pool.connect();
  if (signal === undefined) return await connecting;
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => {
    connecting.then(
      (client) => client.release(),
      () => {},
    );
    aborted.reject(DroverError.from(signal.reason));
  };
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    return await Promise.race([connecting, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

/** bigint columns are counters and sizes here: numbers, and an error instead of a rounded one. */
function getTypeParser(oid: number, format?: "text" | "binary"): unknown {
  if (format === "binary") return parserOf(oid, "binary");
  if (oid === int8) return safeInteger;
  if (oid === int8Array) {
    const parse = parserOf(oid, "text");
    return (text: string) =>
      (parse(text) as unknown[]).map((item) => (item === null ? null : safeInteger(String(item))));
  }
  return parserOf(oid, "text");
}

function safeInteger(text: string): number {
  const number = Number(text);
  if (!Number.isSafeInteger(number)) throw new RangeError(`The bigint ${text} is beyond the safe integers.`);
  return number;
}
