import {
  type ClientHttp2Stream,
  constants,
  type Http2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { DroverError } from "@drover/kernel";
import { returnedHeaders } from "../domain/forwarded-headers.ts";
import type { ActiveCall } from "./active-calls.ts";
import { grpcTrailers, refuseGrpc } from "./grpc-refusal.ts";
import { pump } from "./pump.ts";

/** Added to a deadline before the edge itself ends a call, so that the service's own answer comes first. */
const deadlineSlackMs = 250;

/** Two streams and what is known about their call. */
export interface ExchangeParts {
  readonly client: ServerHttp2Stream;
  readonly upstream: ClientHttp2Stream;
  /** The service behind `upstream`, for messages. */
  readonly target: string;
  readonly resumable: boolean;
  readonly timeoutMs: number | undefined;
  /** Called once, with the gRPC status that the client was told; "1" where it went away. */
  readonly onEnd: (status: string) => void;
}

/**
 * One call being copied: bytes both ways with the slower side's pace, headers and trailers back, a reset of
 * either side to the other. When the service is lost the client is told with a status, never with a bare reset.
 */
export class GrpcExchange implements ActiveCall {
  readonly resumable: boolean;
  readonly #parts: ExchangeParts;
  readonly #session: Http2Session | undefined;
  readonly #timer: NodeJS.Timeout | undefined;
  #trailers: OutgoingHttpHeaders | undefined;
  readonly #stopRequest: () => void;
  #stopResponse: () => void = () => {};
  #responded = false;
  #ended = false;

  constructor(parts: ExchangeParts) {
    this.#parts = parts;
    this.resumable = parts.resumable;
    if (parts.timeoutMs !== undefined) {
      this.#timer = setTimeout(() => this.end(deadlineExceeded()), parts.timeoutMs + deadlineSlackMs);
    }
    const { client, upstream } = parts;
    this.#session = upstream.session;
    this.#stopRequest = pump(client, upstream, () => void upstream.end());
    upstream.on("response", (headers, flags) => this.#onResponse(headers, flags));
    upstream.on("trailers", (trailers) => {
      this.#trailers = returnedHeaders(trailers);
    });
    upstream.on("error", () => {});
    upstream.on("close", () => this.#onUpstreamClosed());
    client.on("close", () => this.#onClientClosed());
  }

  end(error: DroverError): void {
    const { client, upstream } = this.#parts;
    if (client.destroyed || this.#ended) return;
    this.#stopRequest();
    this.#stopResponse();
    this.#finish(error);
    upstream.close(constants.NGHTTP2_CANCEL);
  }

  #onResponse(headers: IncomingHttpHeaders, flags: number): void {
    const { client, upstream } = this.#parts;
    if (client.destroyed || client.headersSent) return;
    this.#responded = true;
    const trailersOnly = (flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    if (trailersOnly) {
      this.#trailers = returnedHeaders(headers);
      client.respond(this.#trailers, { endStream: true });
      return;
    }
    client.respond(returnedHeaders(headers), { waitForTrailers: true });
    client.on("wantTrailers", () => {
      client.sendTrailers(this.#trailers ?? grpcTrailers(lost(this.#parts.target)));
    });
    this.#stopResponse = pump(upstream, client, () => {
      if (this.#trailers !== undefined) client.end();
    });
  }

  /** The service has answered, or is gone: whatever the client has not been told yet, it is told now. */
  #onUpstreamClosed(): void {
    const { client, upstream, target } = this.#parts;
    this.#stopRequest();
    // A client that still sends is not listened to any more; unread, its bytes would hold the stream open.
    client.resume();
    if (client.destroyed || this.#ended) return;
    if (this.#responded && this.#trailers !== undefined) return;
    // Node says CANCEL of a stream whose connection was lost, too.
    this.#finish(this.#session?.destroyed === true ? lost(target) : errorOfReset(target, upstream.rstCode));
  }

  #finish(error: DroverError): void {
    const { client } = this.#parts;
    this.#ended = true;
    this.#trailers = grpcTrailers(error);
    if (this.#responded) client.end();
    else refuseGrpc(client, error);
  }

  #onClientClosed(): void {
    clearTimeout(this.#timer);
    const { upstream, onEnd } = this.#parts;
    if (!upstream.closed) upstream.close(constants.NGHTTP2_CANCEL);
    const status = this.#trailers?.["grpc-status"];
    onEnd(typeof status === "string" ? status : "1");
  }
}

/** UNAVAILABLE that names the service whose connection broke under a call. */
export function lost(target: string, cause?: unknown): DroverError {
  return new DroverError("UNAVAILABLE", `The connection to the service ${target} was lost; try again.`, {
    reason: "UPSTREAM_LOST",
    metadata: { service: target },
    cause,
  });
}

/** https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Errors", as far as it matters at an edge. */
function errorOfReset(target: string, code: number | undefined): DroverError {
  switch (code) {
    case constants.NGHTTP2_CANCEL:
      return new DroverError("CANCELLED", `The service ${target} cancelled the call.`);
    case constants.NGHTTP2_ENHANCE_YOUR_CALM:
      return new DroverError("RESOURCE_EXHAUSTED", `The service ${target} refused the call: too much at once.`);
    default:
      return lost(target);
  }
}

function deadlineExceeded(): DroverError {
  return new DroverError("DEADLINE_EXCEEDED", "The deadline was exceeded.");
}
