import { DroverError } from "@drover/kernel";

const lostConnection =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered|Cannot use a pool after|Postgres connection has been discarded)/;
const networkCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ETIMEDOUT",
  "EPIPE",
  "ENOTFOUND",
  "EAI_AGAIN",
  "EHOSTUNREACH",
]);

/**
 * What a caller of the database should see of a failure: a database that is away, overloaded or shutting down is
 * UNAVAILABLE, a lost race ABORTED, a statement over its time DEADLINE_EXCEEDED. Everything else (a constraint, a fault
 * in the SQL) is returned as it is, because only the caller knows what it means.
 */
export function asDatabaseError(error: unknown): unknown {
  if (error instanceof DroverError || !(error instanceof Error)) return error;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (networkCodes.has(code) || lostConnection.test(error.message) || /^(08|53|57P)/.test(code)) {
    return new DroverError("UNAVAILABLE", "The database is not available.", {
      reason: "DATABASE_UNAVAILABLE",
      retryAfterMs: 1000,
      cause: error,
    });
  }
  if (code === "40001" || code === "40P01" || code === "55P03") {
    return new DroverError("ABORTED", "The change collided with another one; try again.", {
      reason: "DATABASE_CONFLICT",
      cause: error,
    });
  }
  if (code === "57014") {
    return new DroverError("DEADLINE_EXCEEDED", "A database statement took too long.", {
      reason: "DATABASE_STATEMENT_TIMEOUT",
      cause: error,
    });
  }
  return error;
}

/** True when the error is a unique violation (SQLSTATE 23505), of the named constraint where one is given. */
export function isUniqueViolation(error: unknown, constraint?: string): boolean {
  if (!(error instanceof Error) || !("code" in error) || error.code !== "23505") return false;
  return constraint === undefined || ("constraint" in error && error.constraint === constraint);
}
