import type { DroverError } from "@drover/kernel";
import { exitCodes } from "./exit-codes.ts";

/** A failure as a person is told of it: what happened, and what to do. */
export class CommandFailure extends Error {
  /** One sentence; empty where nothing can be done. */
  readonly advice: string;
  readonly exitCode: number;
  /** The code of the API's error vocabulary, or USAGE. */
  readonly code: string;

  constructor(message: string, advice: string, exitCode: number, code: string) {
    super(message);
    this.name = "CommandFailure";
    this.advice = advice;
    this.exitCode = exitCode;
    this.code = code;
  }
}

/** A failure of the command line itself: exit code 2. */
export function usageFailure(message: string, advice: string): CommandFailure {
  return new CommandFailure(message, advice, exitCodes.usage, "USAGE");
}

/** A failure of an API call in words; `target` says where it went and with which key. */
export function failureOf(
  error: DroverError,
  target: { readonly url: string; readonly keySource: string },
): CommandFailure {
  const { ok: _, ...codes } = exitCodes;
  const failure = (message: string, advice: string, exitCode: number) =>
    new CommandFailure(message, advice, exitCode, error.code);
  switch (error.code) {
    case "UNAVAILABLE":
      return error.reason === "PEER_UNREACHABLE"
        ? failure(
            `No gateway answers at ${target.url}.`,
            "Start Drover with `make demo` or `make up`, or name its address with --url or DROVER_URL.",
            codes.unavailable,
          )
        : failure(error.message, "Try again in a moment; `drover doctor` says what is away.", codes.unavailable);
    case "DEADLINE_EXCEEDED":
      return failure(error.message, "Try again; `drover doctor` says whether all services answer.", codes.unavailable);
    case "UNAUTHENTICATED":
      return failure(
        `${target.url} does not accept the key from ${target.keySource}.`,
        "Set DROVER_API_KEY to a valid key; a first start writes one to .drover/<profile>/api-key.",
        codes.auth,
      );
    case "PERMISSION_DENIED":
      return failure(error.message, "Use a key that has the scope; `drover doctor` shows those of yours.", codes.auth);
    case "INVALID_ARGUMENT":
      return failure(faultsOf(error), "Change the named field to what is allowed.", codes.usage);
    case "NOT_FOUND":
      return failure(error.message, "Check the id: a key sees only what belongs to its own tenant.", codes.failed);
    case "RESOURCE_EXHAUSTED":
      return failure(error.message, waitAdvice(error.retryAfterMs), codes.failed);
    case "CANCELLED":
      return failure(error.message, "", codes.failed);
    default:
      return failure(error.message, "The service's log says more; `drover doctor` checks the set-up.", codes.failed);
  }
}

function faultsOf(error: DroverError): string {
  if (error.violations.length === 0) return error.message;
  return error.violations.map(({ field, found, allowed }) => `${field}: found ${found}, allowed ${allowed}`).join("; ");
}

function waitAdvice(retryAfterMs: number | undefined): string {
  return retryAfterMs === undefined
    ? "Ask for less, or try again later."
    : `Ask for less, or try again in ${Math.ceil(retryAfterMs / 1000)} s.`;
}
