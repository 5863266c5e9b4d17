import { DroverError, headOf } from "@drover/kernel";
import { APIConnectionError, APIError } from "openai";
import { isContextOverflow } from "./context-overflow.ts";
import type { Endpoint } from "./endpoint.ts";
import { retryAfterMs } from "./retry-after.ts";

type Place = Pick<Endpoint, "host" | "redact">;

/**
 * What a failed call means, in our vocabulary. An abort becomes the reason of `signal`; messages name
 * the host and carry the endpoint's words, redacted and shortened, never a key.
 */
export function endpointError(place: Place, caught: unknown, signal: AbortSignal): DroverError {
  const own = ownErrorWithin(caught);
  if (own !== undefined) return own;
  if (signal.aborted) return DroverError.from(signal.reason);
  if (caught instanceof APIConnectionError) return unreachable(place, caught);
  if (caught instanceof APIError) return caught.status === undefined ? inStream(place, caught) : refused(place, caught);
  return new DroverError("UNAVAILABLE", `The answer of the model endpoint ${place.host} broke off.`, {
    reason: "MODEL_STREAM_BROKEN",
    cause: caught,
  });
}

/** A DroverError thrown below the HTTP client, e.g. by the egress guard, is already the right one. */
function ownErrorWithin(caught: unknown): DroverError | undefined {
  for (let error = caught, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    if (error instanceof DroverError) return error;
  }
  return undefined;
}

function unreachable(place: Place, error: APIConnectionError): DroverError {
  const code = faultCode(error);
  return new DroverError(
    "UNAVAILABLE",
    `The model endpoint ${place.host} cannot be reached${code === "" ? "" : ` (${code})`}. Check OPENAI_BASE_URL and that the endpoint is running.`,
    { reason: "MODEL_UNREACHABLE", cause: error },
  );
}

function faultCode(caught: unknown): string {
  for (let error = caught, depth = 0; error instanceof Error && depth < 5; error = error.cause, depth++) {
    if ("code" in error && typeof error.code === "string") return error.code;
  }
  return "";
}

function refused(place: Place, error: APIError): DroverError {
  const status = error.status ?? 0;
  if (status === 401 || status === 403) {
    return new DroverError(
      "FAILED_PRECONDITION",
      `The model endpoint ${place.host} refused the API key (${status}). Set OPENAI_API_KEY to a key that is valid there.`,
      { reason: "MODEL_CREDENTIALS_REFUSED", cause: error },
    );
  }
  if (status === 404) {
    return new DroverError(
      "FAILED_PRECONDITION",
      `The model endpoint ${place.host} knows no such model or path: ${said(place, error)}. Check OPENAI_BASE_URL and DROVER_MODEL.`,
      { reason: "MODEL_NOT_FOUND", cause: error },
    );
  }
  if (status === 429) return limited(place, error);
  if (status === 408 || status === 409 || status >= 500) return overloaded(place, error);
  return badRequest(place, error);
}

function limited(place: Place, error: APIError): DroverError {
  const exhausted = error.code === "insufficient_quota" || /exceeded your current quota|billing/i.test(error.message);
  const wait = retryAfterMs(error.headers);
  return new DroverError("RESOURCE_EXHAUSTED", `The model endpoint ${place.host} limits us: ${said(place, error)}`, {
    reason: exhausted ? "MODEL_QUOTA_EXHAUSTED" : "MODEL_RATE_LIMITED",
    retryable: !exhausted,
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    cause: error,
  });
}

function overloaded(place: Place, error: APIError): DroverError {
  const wait = retryAfterMs(error.headers);
  const message = `The model endpoint ${place.host} answered ${error.status}: ${said(place, error)}`;
  // Proxies wrap a prompt that is too long in a 503; trying the same prompt again would not help.
  if (isContextOverflow(error)) return tooLong(message, error);
  return new DroverError("UNAVAILABLE", message, {
    reason: "MODEL_UNAVAILABLE",
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
    cause: error,
  });
}

function badRequest(place: Place, error: APIError): DroverError {
  const message = `The model endpoint ${place.host} refused the request (${error.status}): ${said(place, error)}`;
  if (isContextOverflow(error)) return tooLong(message, error);
  return new DroverError("INVALID_ARGUMENT", message, { reason: "MODEL_REQUEST_REFUSED", cause: error });
}

/** An error object inside a stream that began with 200. */
function inStream(place: Place, error: APIError): DroverError {
  const message = `The model endpoint ${place.host} reported an error in its answer: ${said(place, error)}`;
  if (isContextOverflow(error)) return tooLong(message, error);
  const limit = /rate.?limit|too many/i.test(`${error.code} ${error.type} ${error.message}`);
  return new DroverError(limit ? "RESOURCE_EXHAUSTED" : "UNAVAILABLE", message, {
    reason: limit ? "MODEL_RATE_LIMITED" : "MODEL_ERROR_IN_STREAM",
    cause: error,
  });
}

function tooLong(message: string, cause: APIError): DroverError {
  return new DroverError("INVALID_ARGUMENT", message, { reason: "CONTEXT_LENGTH_EXCEEDED", cause });
}

function said(place: Place, error: APIError): string {
  const text = error.message.replace(/^\d{3} /, "").replaceAll(/\s+/g, " ");
  return headOf(place.redact(text), 400);
}
