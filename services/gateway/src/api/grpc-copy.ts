import { randomUUID } from "node:crypto";
import type {
  ClientHttp2Session,
  ClientHttp2Stream,
  IncomingHttpHeaders,
  OutgoingHttpHeaders,
  ServerHttp2Stream,
} from "node:http2";
import { type Caller, type IdentityMinter, identityHeader } from "@drover/rpc";
import { formatTraceparent, parseTraceparent } from "@drover/tracing";
import type { Principal } from "../application/principal.ts";
import { forwardedHeaders } from "../domain/forwarded-headers.ts";
import { cappedTimeout, formatGrpcTimeout, parseGrpcTimeout } from "../domain/grpc-timeout.ts";
import type { ActiveCalls } from "./active-calls.ts";
import { type AdmittedMethod, admittedMethod, requireScope, type Target } from "./admission.ts";
import type { Credentials } from "./credentials.ts";
import { GrpcExchange, lost } from "./grpc-exchange.ts";
import { refuseGrpc } from "./grpc-refusal.ts";

/** Connections to one service. */
export interface UpstreamSessions {
  /** One that takes streams, at once where it is connected. UNAVAILABLE, naming the service, where none can be had. */
  session(): ClientHttp2Session | Promise<ClientHttp2Session>;
}

/** What copying needs. */
export interface GrpcCopyParts {
  readonly credentials: Credentials;
  readonly minter: IdentityMinter;
  readonly upstreams: Readonly<Record<Target, UpstreamSessions>>;
  readonly calls: ActiveCalls;
  readonly limits: DeadlineLimits;
  /** Hears of each call's end: where it went and its gRPC status. */
  readonly onEnd: (target: string, status: string, seconds: number) => void;
}

/** Longest times of calls at the edge, in milliseconds. */
export interface DeadlineLimits {
  /** Of a unary call, also where its caller set no deadline. */
  readonly unaryMs: number;
  /** Of a stream whose caller set a deadline; one without a deadline has none. */
  readonly streamMs: number;
}

/**
 * A handler of gRPC streams: authenticates each, checks its scope, and copies it on as raw HTTP/2 with an
 * identity added, so that messages, unknown fields and trailers pass as they are. Every failure at the edge is
 * a gRPC status; the handler never throws.
 */
export function createGrpcCopy(
  parts: GrpcCopyParts,
): (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void {
  return (stream, headers) => {
    const startedMs = performance.now();
    stream.on("error", () => {});
    let target = "none";
    const report = (status: string) => parts.onEnd(target, status, (performance.now() - startedMs) / 1000);
    const copy = async () => {
      const admitted = admittedMethod(headers[":path"]);
      target = admitted.target;
      const upstream = await prepare(parts, admitted, headers);
      if (stream.destroyed) return report("1");
      exchange(parts, admitted, stream, upstream, report);
    };
    copy().catch((error: unknown) => report(refuseGrpc(stream, error)));
  };
}

interface Prepared {
  readonly request: OutgoingHttpHeaders;
  readonly session: ClientHttp2Session;
  readonly timeoutMs: number | undefined;
}

/** Who calls, whether they may, and with which headers to whom. Waits only for what is not at hand. */
async function prepare(
  parts: GrpcCopyParts,
  admitted: AdmittedMethod,
  headers: IncomingHttpHeaders,
): Promise<Prepared> {
  const found = parts.credentials.bearer(headers.authorization);
  const principal = found instanceof Promise ? await found : found;
  requireScope(principal, admitted);
  const timeoutMs = timeoutOf(parts.limits, admitted, headers["grpc-timeout"]);
  const target = admitted.target as Target;
  const minted = parts.minter.mint(callerFor(principal), target);
  const token = minted instanceof Promise ? await minted : minted;
  const chosen = parts.upstreams[target].session();
  const session = chosen instanceof Promise ? await chosen : chosen;
  return { request: requestHeaders(headers, token, timeoutMs), session, timeoutMs };
}

function timeoutOf(limits: DeadlineLimits, { unary }: AdmittedMethod, header: unknown): number | undefined {
  const asked = parseGrpcTimeout(typeof header === "string" ? header : undefined);
  if (unary) return cappedTimeout(asked, limits.unaryMs);
  return asked === undefined ? undefined : cappedTimeout(asked, limits.streamMs);
}

function callerFor({ tenant, subject, scopes }: Principal): Caller {
  return { tenant, subject, scopes };
}

function requestHeaders(
  headers: IncomingHttpHeaders,
  token: string,
  timeoutMs: number | undefined,
): OutgoingHttpHeaders {
  const request: OutgoingHttpHeaders = forwardedHeaders(headers) as OutgoingHttpHeaders;
  request[":method"] = "POST";
  request[":path"] = headers[":path"];
  request.te = "trailers";
  request[identityHeader] = token;
  request.traceparent = traceparentFor(headers.traceparent);
  if (timeoutMs !== undefined) request["grpc-timeout"] = formatGrpcTimeout(timeoutMs);
  return request;
}

/** The client's trace where its header is a good one; otherwise a new one begins here. */
function traceparentFor(header: string | string[] | undefined): string {
  const given = typeof header === "string" ? parseTraceparent(header) : undefined;
  if (given !== undefined) return formatTraceparent(given);
  // Node draws the randomness of UUIDs in advance, which a call of every few microseconds notices.
  const traceId = randomUUID().replaceAll("-", "");
  const spanId = randomUUID().replaceAll("-", "").slice(16);
  return formatTraceparent({ traceId, spanId });
}

function exchange(
  parts: GrpcCopyParts,
  admitted: AdmittedMethod,
  stream: ServerHttp2Stream,
  { request, session, timeoutMs }: Prepared,
  report: (status: string) => void,
): void {
  let upstream: ClientHttp2Stream;
  try {
    upstream = session.request(request);
  } catch (error) {
    report(refuseGrpc(stream, lost(admitted.target, error)));
    return;
  }
  const { resumable, target } = admitted;
  const call = new GrpcExchange({ client: stream, upstream, target, resumable, timeoutMs, onEnd: ended });
  parts.calls.add(call);
  function ended(status: string): void {
    parts.calls.delete(call);
    report(status);
  }
}
