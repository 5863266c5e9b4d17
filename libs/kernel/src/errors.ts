/**
 * The one error vocabulary of Drover. Every failure that may cross a process boundary is a
 * {@link DroverError}; `libs/rpc` maps its code to gRPC in one file. Expected outcomes (a time-out
 * of user code, a failed tool, a refused upload) are values in responses and are never thrown.
 */
export type ErrorCode =
  | "INVALID_ARGUMENT"
  | "NOT_FOUND"
  | "ALREADY_EXISTS"
  | "PERMISSION_DENIED"
  | "UNAUTHENTICATED"
  | "FAILED_PRECONDITION"
  | "ABORTED"
  | "RESOURCE_EXHAUSTED"
  | "DEADLINE_EXCEEDED"
  | "CANCELLED"
  | "UNAVAILABLE"
  | "UNIMPLEMENTED"
  | "INTERNAL";

/** One fault of an input: which field, what was found and what is allowed. */
export interface FieldViolation {
  /** Path of the field in proto names, e.g. `limits.memory_bytes` or `messages[3].text`. */
  readonly field: string;
  /** What was found, shortened and free of secrets. */
  readonly found: string;
  /** What is allowed, in words a caller can act on. */
  readonly allowed: string;
}

export interface ErrorOptions {
  readonly retryable?: boolean;
  /** For RESOURCE_EXHAUSTED and UNAVAILABLE: when trying again makes sense. */
  readonly retryAfterMs?: number;
  readonly violations?: readonly FieldViolation[];
  /** A stable machine-readable reason, UPPER_SNAKE_CASE, e.g. `DOCKER_UNAVAILABLE`. */
  readonly reason?: string;
  /** Small string facts for the caller (limits, ids of the caller's own objects); never secrets. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** Kept for logs, never sent to a caller. */
  readonly cause?: unknown;
}

const retryableByDefault: ReadonlySet<ErrorCode> = new Set(["UNAVAILABLE", "RESOURCE_EXHAUSTED", "ABORTED"]);

/** An error whose `message` is safe to show to a caller; `cause` holds what is not. */
export class DroverError extends Error {
  readonly code: ErrorCode;
  readonly retryable: boolean;
  readonly retryAfterMs: number | undefined;
  readonly violations: readonly FieldViolation[];
  readonly reason: string;
  readonly metadata: Readonly<Record<string, string>>;

  constructor(code: ErrorCode, message: string, options: ErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "DroverError";
    this.code = code;
    this.retryable = options.retryable ?? retryableByDefault.has(code);
    this.retryAfterMs = options.retryAfterMs;
    this.violations = options.violations ?? [];
    this.reason = options.reason ?? code;
    this.metadata = options.metadata ?? {};
  }

  /**
   * Turns anything caught into a DroverError. An abort becomes CANCELLED (or the DroverError that was
   * the abort's reason), a time-out DEADLINE_EXCEEDED; everything unknown becomes INTERNAL with a
   * neutral message and the original as cause.
   */
  static from(error: unknown): DroverError {
    if (error instanceof DroverError) return error;
    if (error instanceof Error) {
      if (error.name === "AbortError") {
        return error.cause instanceof DroverError
          ? error.cause
          : new DroverError("CANCELLED", "The call was cancelled.", { cause: error });
      }
      if (error.name === "TimeoutError") {
        return new DroverError("DEADLINE_EXCEEDED", "The deadline was exceeded.", { cause: error });
      }
    }
    return new DroverError("INTERNAL", "Internal error.", { cause: error });
  }
}

/** INVALID_ARGUMENT for one field, in the form that every service uses. */
export function invalidField(field: string, found: string, allowed: string): DroverError {
  return invalidFields([{ field, found, allowed }]);
}

/** INVALID_ARGUMENT for several fields at once; `violations` is not empty. */
export function invalidFields(violations: readonly FieldViolation[]): DroverError {
  const text = violations.map((v) => `${v.field}: found ${v.found}, allowed ${v.allowed}`).join("; ");
  return new DroverError("INVALID_ARGUMENT", text, { violations });
}

/** NOT_FOUND with the same wording for "does not exist" and "belongs to somebody else". */
export function notFound(kind: string, id: string): DroverError {
  return new DroverError("NOT_FOUND", `${kind} ${JSON.stringify(id.slice(0, 64))} was not found.`, {
    reason: `${kind.toUpperCase().replaceAll(" ", "_")}_NOT_FOUND`,
  });
}
