import { DroverError } from "@drover/kernel";
import type { KubeAnswer } from "./kube-client.ts";

/** Body of an answer that refuses: a `Status` of the API. */
interface Refusal {
  readonly reason: string;
  readonly message: string;
}

/** Reads what a `Status` says; empty where the body is none. */
function refusalIn(body: unknown): Refusal {
  const { reason, message } = typeof body === "object" && body !== null ? ({ ...body } as Partial<Refusal>) : {};
  return { reason: typeof reason === "string" ? reason : "", message: typeof message === "string" ? message : "" };
}

/**
 * An answer that refuses. What comes again at the next time is FAILED_PRECONDITION (reason ENGINE_REFUSED, or POD_EXISTS
 * where the run has a Pod already); a full quota is RESOURCE_EXHAUSTED (reason QUOTA_EXCEEDED); the rest UNAVAILABLE
 * (reason ENGINE_FAILED). The server's sentence names its own users and objects, so it is the cause only.
 */
export function refused(what: string, { status, body, retryAfterMs }: KubeAnswer): DroverError {
  const { reason, message } = refusalIn(body);
  const cause = new Error(`${status} ${reason}: ${message}`);
  if (status === 403 && /exceeded quota/.test(message)) {
    const full = "The quota of the sandbox's namespace is used up; try again later.";
    return new DroverError("RESOURCE_EXHAUSTED", full, { reason: "QUOTA_EXCEEDED", retryAfterMs: 5000, cause });
  }
  if (status === 409 && reason === "AlreadyExists") {
    return new DroverError("FAILED_PRECONDITION", "The run has a Pod already.", { reason: "POD_EXISTS", cause });
  }
  const said = `The Kubernetes API server refused to ${what} (${status}${reason === "" ? "" : ` ${reason}`}).`;
  if (isFinal(status)) return new DroverError("FAILED_PRECONDITION", said, { reason: "ENGINE_REFUSED", cause });
  return new DroverError("UNAVAILABLE", said, {
    reason: "ENGINE_FAILED",
    retryAfterMs: retryAfterMs ?? 1000,
    cause,
  });
}

/** No answer at all. */
export function away(cause: unknown): DroverError {
  return new DroverError("UNAVAILABLE", "No Kubernetes API server answers.", {
    reason: "ENGINE_UNAVAILABLE",
    retryAfterMs: 5000,
    cause,
  });
}

/** True where asking the same again gives the same answer. */
function isFinal(status: number): boolean {
  return status >= 400 && status < 500 && ![408, 409, 410, 429].includes(status);
}

/** Who asked gave up: a time limit is UNAVAILABLE, anything else what the signal says. */
export function aborted(signal: AbortSignal): DroverError {
  const { reason } = signal;
  const late = reason instanceof Error && reason.name === "TimeoutError";
  if (!late) return DroverError.from(reason);
  return new DroverError("UNAVAILABLE", "The Kubernetes API server did not answer in time.", {
    reason: "ENGINE_UNAVAILABLE",
    retryAfterMs: 1000,
  });
}
