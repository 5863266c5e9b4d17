import { DroverError } from "@drover/kernel";

/** What to do where the engine does not answer. */
export interface EngineAdvice {
  readonly problem: string;
  readonly advice: string;
}

/** HTTP status of an engine's answer, or undefined where it did not answer. */
export function statusOf(error: unknown): number | undefined {
  if (!(error instanceof Error) || !("statusCode" in error)) return undefined;
  return typeof error.statusCode === "number" ? error.statusCode : undefined;
}

/**
 * Says in words why an engine cannot be reached and what to do about it. `host` is named where it is given: to who
 * asks for the service's health, not to everybody whose run was refused.
 */
export function adviceFor(error: unknown, host?: string): EngineAdvice {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "EACCES" || code === "EPERM") {
    return {
      problem: `This process may not open the Docker socket${host === undefined ? "" : ` ${host}`}.`,
      advice: "Run the service as a user of the group docker, or set DOCKER_HOST to a daemon it may use.",
    };
  }
  return {
    problem: `No Docker daemon answers${host === undefined ? "" : ` at ${host}`}.`,
    advice:
      "Start Docker (`systemctl start docker`, Docker Desktop, or `make docker` in a checkout), or set DOCKER_HOST to a running daemon; this service then recovers by itself.",
  };
}

/**
 * UNAVAILABLE for an engine that does not answer or fails; FAILED_PRECONDITION where it refuses (400: no
 * such runtime, an entry point that cannot be executed). A DroverError is passed on.
 */
export function engineError(error: unknown, what: string): DroverError {
  if (error instanceof DroverError) return error;
  if (statusOf(error) === 400) {
    return new DroverError("FAILED_PRECONDITION", `The container engine refused to ${what}.`, {
      reason: "ENGINE_REFUSED",
      cause: error,
    });
  }
  if (statusOf(error) !== undefined) {
    return new DroverError("UNAVAILABLE", `The container engine failed to ${what}.`, {
      reason: "ENGINE_FAILED",
      retryAfterMs: 1000,
      cause: error,
    });
  }
  if (error instanceof Error && (error.name === "AbortError" || error.name === "TimeoutError")) {
    return new DroverError("UNAVAILABLE", `The container engine did not ${what} in time.`, {
      reason: "ENGINE_UNAVAILABLE",
      retryAfterMs: 1000,
      cause: error,
    });
  }
  const { problem, advice } = adviceFor(error);
  return new DroverError("UNAVAILABLE", `${problem} ${advice}`, {
    reason: "ENGINE_UNAVAILABLE",
    retryAfterMs: 5000,
    cause: error,
  });
}
