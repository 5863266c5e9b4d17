import { createServer as createHttp1, type Server as Http1Server } from "node:http";
import {
  createServer as createHttp2,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from "node:http2";
import { createServer, type Server, type Socket } from "node:net";
import { DroverError } from "@drover/kernel";
import { joinAddress, splitAddress } from "@drover/runtime";
import { sniffProtocol } from "../domain/preface.ts";
import { refuseGrpc } from "./grpc-refusal.ts";
import type { HttpRequest, HttpResponse } from "./json-answer.ts";

/** Limits of the port; sizes in bytes, times in milliseconds. */
export interface FrontDoorLimits {
  readonly maxConnections: number;
  readonly maxStreamsPerConnection: number;
  /** Names and values of a request's headers together. */
  readonly maxHeaderBytes: number;
  /** From the connection to a first byte that tells the protocol. */
  readonly firstByteMs: number;
  /** From a request's first byte to the end of its headers (HTTP/1.1). */
  readonly headersMs: number;
  /** From a request's first byte to the end of its body (HTTP/1.1). */
  readonly requestMs: number;
  /** How long a connection without a request stays open. */
  readonly idleMs: number;
  /** Streams that one client may reset at once, and then per second, before its connection is closed. */
  readonly resetBurst: number;
  readonly resetsPerSecond: number;
}

/** Who answers. */
export interface FrontDoorHandlers {
  /** Calls in gRPC, all of them POST, that go to a service as they are. */
  readonly grpc: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void;
  /** Whether a gRPC path goes to {@link grpc}; the rest goes to `http`. */
  readonly isCopied: (path: string | undefined) => boolean;
  readonly http: (request: HttpRequest, response: HttpResponse) => void;
}

/** A port that listens. */
export interface FrontDoor extends AsyncDisposable {
  /** `host:port` that is really bound. */
  readonly address: string;
  /** Takes no new connection and no new request; what runs goes on. */
  refuseNew(): void;
}

/** Bytes of one stream that a client may send ahead of the slowest reader behind us. */
const streamWindowBytes = 256 * 1024;
/** A hundred such windows and their headers. */
const sessionMemoryMb = 64;

const grpcType = /^application\/grpc(?:\+|;|$)/;

/**
 * One cleartext port for HTTP/1.1 and HTTP/2: the 24 bytes of the HTTP/2 preface decide. Disposing closes
 * everything at once. Rejects when the address cannot be bound.
 */
export async function openFrontDoor(
  listen: string,
  limits: FrontDoorLimits,
  handlers: FrontDoorHandlers,
): Promise<FrontDoor> {
  const http1 = http1Server(limits, handlers.http);
  const { http2, sessions } = http2Server(limits, handlers);
  const sockets = new Set<Socket>();
  const front = createServer({ noDelay: true, keepAlive: true }, (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    sniff(socket, limits.firstByteMs, (protocol) => (protocol === "http2" ? http2 : http1).emit("connection", socket));
  });
  front.maxConnections = limits.maxConnections;
  const { host, port } = splitAddress(listen);
  await listening(front, host, port);
  let closing: Promise<void> | undefined;
  const refuseNew = () => {
    closing ??= new Promise((resolve) => front.close(() => resolve()));
    for (const session of sessions) session.close();
    // Also stops the timer that looks for slow requests; the server itself never listened.
    http1.close(() => {});
    http1.closeIdleConnections();
  };
  return {
    address: joinAddress(host, portOf(front, port)),
    refuseNew,
    async [Symbol.asyncDispose]() {
      refuseNew();
      for (const session of sessions) session.destroy();
      http1.closeAllConnections();
      for (const socket of sockets) socket.destroy();
      await closing;
    },
  };
}

function http1Server(limits: FrontDoorLimits, handler: FrontDoorHandlers["http"]): Http1Server {
  const server = createHttp1(
    {
      headersTimeout: limits.headersMs,
      requestTimeout: limits.requestMs,
      keepAliveTimeout: Math.min(limits.idleMs, 65_000),
      maxHeaderSize: limits.maxHeaderBytes,
      connectionsCheckingInterval: 500,
    },
    (request, response) => {
      if (request.rawHeaders.filter((name, at) => at % 2 === 0 && name.toLowerCase() === "host").length < 2) {
        handler(request, response);
      } else {
        // A proxy in front may believe another one than we do: https://www.rfc-editor.org/rfc/rfc9112#section-3.2
        response.writeHead(400, { connection: "close" }).end();
      }
    },
  );
  // Node arms the two time-outs when a server begins to listen; this one only gets its connections handed over.
  server.emit("listening");
  return server;
}

function http2Server(limits: FrontDoorLimits, handlers: FrontDoorHandlers) {
  const sessions = new Set<ServerHttp2Session>();
  const options = {
    settings: {
      maxConcurrentStreams: limits.maxStreamsPerConnection,
      initialWindowSize: streamWindowBytes,
      maxHeaderListSize: limits.maxHeaderBytes,
    },
    maxSessionMemory: sessionMemoryMb,
    streamResetBurst: limits.resetBurst,
    streamResetRate: limits.resetsPerSecond,
  };
  const http2 = createHttp2(options);
  // Streams that are not copied get node's request and response objects from a server that never listens.
  const compatible = createHttp2({}, handlers.http);
  http2.on("stream", (stream, headers, flags, rawHeaders) => {
    const type = headers["content-type"];
    const isGrpc = type !== undefined && grpcType.test(type);
    const bytes = headerBytes(rawHeaders);
    if (bytes > limits.maxHeaderBytes) refuseHeaders(stream, isGrpc, bytes, limits.maxHeaderBytes);
    else if (isGrpc && headers[":method"] === "POST" && handlers.isCopied(headers[":path"]))
      handlers.grpc(stream, headers);
    else compatible.emit("stream", stream, headers, flags, rawHeaders);
  });
  http2.on("session", (session) => {
    sessions.add(session);
    session.setTimeout(limits.idleMs, () => session.close());
    session.on("error", () => {});
    session.once("close", () => sessions.delete(session));
  });
  http2.on("sessionError", () => {});
  return { http2, sessions };
}

/** Node tells clients of the limit and does not hold them to it below 64 KiB. */
function headerBytes(rawHeaders: readonly string[]): number {
  let bytes = 0;
  for (const part of rawHeaders) bytes += part.length;
  return bytes;
}

function refuseHeaders(stream: ServerHttp2Stream, isGrpc: boolean, found: number, allowed: number): void {
  stream.on("error", () => {});
  if (!isGrpc) {
    stream.respond({ ":status": 431 }, { endStream: true });
    return;
  }
  const message = `headers: found ${found} bytes, allowed ${allowed}.`;
  refuseGrpc(stream, new DroverError("RESOURCE_EXHAUSTED", message, { reason: "HEADERS_TOO_LARGE", retryable: false }));
}

/** Reads just enough to know the protocol and puts it back. A peer that says too little for too long is cut. */
function sniff(socket: Socket, firstByteMs: number, decided: (protocol: "http1" | "http2") => void): void {
  let start = Buffer.alloc(0);
  const timer = setTimeout(() => socket.destroy(), firstByteMs);
  socket.once("close", () => clearTimeout(timer));
  socket.on("error", () => {});
  const onReadable = () => {
    for (let chunk: Buffer | null = socket.read(); chunk !== null; chunk = socket.read()) {
      start = Buffer.concat([start, chunk]);
      const protocol = sniffProtocol(start);
      if (protocol === "undecided") continue;
      clearTimeout(timer);
      socket.off("readable", onReadable);
      socket.unshift(start);
      decided(protocol);
      return;
    }
  };
  socket.on("readable", onReadable);
}

function portOf(server: Server, asked: number): number {
  const bound = server.address();
  return typeof bound === "object" && bound !== null ? bound.port : asked;
}

function listening(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host, port }, () => {
      server.off("error", reject);
      resolve();
    });
  });
}
