import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import type { DroverError, ErrorCode } from "@drover/kernel";
import { droverErrorFrom } from "@drover/rpc";

/** A request of either HTTP version. */
export type HttpRequest = IncomingMessage | Http2ServerRequest;
/** Its response. */
export type HttpResponse = ServerResponse | Http2ServerResponse;

const httpStatus: Readonly<Record<ErrorCode, number>> = {
  INVALID_ARGUMENT: 400,
  FAILED_PRECONDITION: 400,
  UNAUTHENTICATED: 401,
  PERMISSION_DENIED: 403,
  NOT_FOUND: 404,
  ALREADY_EXISTS: 409,
  ABORTED: 409,
  RESOURCE_EXHAUSTED: 429,
  CANCELLED: 499,
  INTERNAL: 500,
  UNIMPLEMENTED: 501,
  UNAVAILABLE: 503,
  DEADLINE_EXCEEDED: 504,
};

/** On every answer: what a browser must not guess, frame or share. */
export const securityHeaders = {
  "x-content-type-options": "nosniff",
  "x-frame-options": "DENY",
  "referrer-policy": "no-referrer",
  "cross-origin-resource-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
} as const;

/** Answers with JSON. */
export function sendJson(
  response: HttpResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  send(response, status, `${JSON.stringify(body)}\n`, { "content-type": "application/json", ...headers });
}

/** Answers with an error as `{code, message, details}`; nothing where the answer has begun. */
export function sendError(response: HttpResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const known = droverErrorFrom(error);
  const advice: Record<string, string> = {};
  if (known.code === "UNAUTHENTICATED") advice["www-authenticate"] = 'Bearer realm="drover"';
  if (known.retryAfterMs !== undefined) advice["retry-after"] = String(Math.ceil(known.retryAfterMs / 1000));
  sendJson(response, httpStatus[known.code], errorBody(known), advice);
}

/** The JSON of an error. */
function errorBody({ code, message, reason, violations, metadata }: DroverError) {
  return { code, message, details: { reason, violations, metadata } };
}

/** Answers with text that nobody may store. */
export function send(
  response: HttpResponse,
  status: number,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): void {
  const length = typeof body === "string" ? Buffer.byteLength(body) : body.length;
  const all = { ...securityHeaders, "cache-control": "no-store", "content-length": String(length), ...headers };
  // The two classes declare overloads of their own, though both take these arguments.
  (response as ServerResponse).writeHead(status, all);
  (response as ServerResponse).end(body);
}

/** One header as text; the first one where it came more than once. */
export function headerOf(request: HttpRequest, name: string): string | undefined {
  const value = request.headers[name];
  return Array.isArray(value) ? value[0] : value;
}

/** The path of a request without its query. */
export function pathOf(request: HttpRequest): string {
  return (request.url ?? "/").split("?", 1)[0] ?? "/";
}
