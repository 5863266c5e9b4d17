import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { CallOptions } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { actingAs, droverErrorFrom } from "@drover/rpc";
import { parseLastEventId } from "../domain/event-cursor.ts";
import { sseComment } from "../domain/sse-frame.ts";
import type { ActiveCalls } from "./active-calls.ts";
import { admittedMethod, requireScope } from "./admission.ts";
import type { Credentials } from "./credentials.ts";
import { type HttpRequest, type HttpResponse, headerOf, securityHeaders } from "./json-answer.ts";
import { presentedBy } from "./presented.ts";

/** What a stream of events needs; the times are milliseconds. */
export interface EventStreamParts {
  readonly credentials: Credentials;
  readonly calls: ActiveCalls;
  /** Longest silence before a comment is written. */
  readonly heartbeatMs: number;
  /** How long a client may leave a write unread before it is cut; it resumes from its last id. */
  readonly stallMs: number;
}

/** A watch of a service as server-sent events. */
export interface WatchedEvents<Message> {
  /** The method behind it, whose scope the caller needs. */
  readonly method: string;
  /** Begins after the sequence of the client's last event. */
  readonly watch: (after: bigint, options: CallOptions) => AsyncIterable<Message>;
  /** The frames of a message; undefined for one that a client is not told of. */
  readonly framesOf: (message: Message) => string | undefined;
}

/**
 * Answers a GET with a watch. A refusal before the first message is thrown; after it the response ends and the client
 * resumes with `Last-Event-ID`. The watch ends with the response, and at a drain.
 */
export async function serveEvents<Message>(
  parts: EventStreamParts,
  request: HttpRequest,
  response: HttpResponse,
  { method, watch, framesOf }: WatchedEvents<Message>,
): Promise<void> {
  if (request.method !== "GET") throw new DroverError("UNIMPLEMENTED", "A stream of events takes GET.");
  const principal = await parts.credentials.any(presentedBy(request), false);
  requireScope(principal, admittedMethod(method));
  const after = parseLastEventId(headerOf(request, "last-event-id"));
  const watching = new AbortController();
  const call = { resumable: true, end: (error: DroverError) => watching.abort(error) };
  response.once("close", () => watching.abort(new DroverError("CANCELLED", "The client went away.")));
  parts.calls.add(call);
  try {
    const { tenant, subject, scopes } = principal;
    const options = { signal: watching.signal, contextValues: actingAs({ tenant, subject, scopes }) };
    await follow({ messages: watch(after, options), framesOf }, response, parts, watching);
  } finally {
    parts.calls.delete(call);
    watching.abort(new DroverError("CANCELLED", "The stream has ended."));
  }
}

/** Writes what comes, at the reader's pace. Throws only while nothing has been written. */
async function follow<Message>(
  { messages, framesOf }: Pick<WatchedEvents<Message>, "framesOf"> & { readonly messages: AsyncIterable<Message> },
  response: HttpResponse,
  parts: EventStreamParts,
  watching: AbortController,
): Promise<void> {
  let writer: SseWriter | undefined;
  try {
    for await (const message of messages) {
      writer ??= new SseWriter(response, parts, watching);
      const frames = framesOf(message);
      if (frames !== undefined) await writer.write(frames);
    }
    writer ??= new SseWriter(response, parts, watching);
    writer.end();
  } catch (error) {
    if (writer === undefined) throw error;
    writer.end(`${droverErrorFrom(error).code}; reconnect with Last-Event-ID`);
  }
}

class SseWriter {
  readonly #response: HttpResponse;
  readonly #watching: AbortController;
  readonly #stallMs: number;
  readonly #heartbeat: NodeJS.Timeout;

  constructor(response: HttpResponse, parts: EventStreamParts, watching: AbortController) {
    this.#response = response;
    this.#watching = watching;
    this.#stallMs = parts.stallMs;
    // The two classes declare overloads of their own, though both take these arguments.
    (response as ServerResponse).writeHead(200, {
      ...securityHeaders,
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store, no-transform",
      "x-accel-buffering": "no",
    });
    this.#send(sseComment("stream opened"));
    this.#heartbeat = setInterval(() => {
      if (!response.writableNeedDrain) this.#send(sseComment("heartbeat"));
    }, parts.heartbeatMs);
  }

  /** Resolves when the reader can take more. A reader that takes nothing for too long is cut. */
  async write(frames: string): Promise<void> {
    this.#heartbeat.refresh();
    if (this.#send(frames)) return;
    const stalled = setTimeout(() => {
      this.#response.destroy();
      this.#watching.abort(new DroverError("RESOURCE_EXHAUSTED", "The client reads too slowly."));
    }, this.#stallMs);
    try {
      await once(this.#response, "drain", { signal: this.#watching.signal });
    } finally {
      clearTimeout(stalled);
    }
  }

  /** Ends the response, with a comment that says why where it was not the end of the watch. */
  end(why?: string): void {
    clearInterval(this.#heartbeat);
    if (this.#response.destroyed) return;
    if (why !== undefined) this.#send(sseComment(why));
    this.#response.end();
  }

  #send(text: string): boolean {
    // Both kinds of response take text; their declarations only disagree on overloads.
    return (this.#response as { write(chunk: string): boolean }).write(text);
  }
}
