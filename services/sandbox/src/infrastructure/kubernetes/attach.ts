import { once } from "node:events";
import { text } from "node:stream/consumers";
import { WebSocket } from "ws";
import { aborted, away, refused } from "./kube-errors.ts";
import { PodStream } from "./pod-stream.ts";

/** Where and with what to attach. */
export interface AttachTarget {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly ca?: string;
}

/** How an attached connection is watched. */
export interface AttachOptions {
  /** Milliseconds between two questions whether the other end is there. */
  readonly heartbeatMs: number;
}

/** The newest first: from version 5 on the end of the input can be told without ending the connection. */
const protocols = ["v5.channel.k8s.io", "v4.channel.k8s.io"];
const handshakeTimeout = 15_000;

/** Opens the WebSocket of a Pod's streams. Refusals and a server that is away are told as those of any other call. */
export async function attach(target: AttachTarget, options: AttachOptions, signal: AbortSignal): Promise<PodStream> {
  const { url, headers, ca } = target;
  const socket = new WebSocket(url, protocols, {
    headers: { ...headers },
    handshakeTimeout,
    perMessageDeflate: false,
    ...(ca === undefined ? {} : { ca }),
  });
  // Before the handshake ends, so that no message is missed.
  const stream = new PodStream(socket, options.heartbeatMs);
  const answer = Promise.withResolvers<never>();
  socket.on("unexpected-response", (_request, response) => {
    text(response).then(
      (body) => answer.reject(refused("attach to a Pod", { status: response.statusCode ?? 0, body: parsed(body) })),
      answer.reject,
    );
  });
  try {
    await Promise.race([once(socket, "open", { signal }), answer.promise]);
    return stream;
  } catch (error) {
    stream.destroy();
    if (signal.aborted) throw aborted(signal);
    throw error instanceof Error && error.name === "DroverError" ? error : away(error);
  }
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return {};
  }
}
