import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { create } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { DroverError, invalidField } from "@drover/kernel";
import {
  TaskService,
  WatchTaskRequestSchema,
  type WatchTaskResponse,
} from "@drover/proto/orchestrator/v1/task_service";
import { actingAs, droverErrorFrom } from "@drover/rpc";
import type { Principal } from "../application/principal.ts";
import { parseLastEventId } from "../domain/event-cursor.ts";
import { sseComment } from "../domain/sse-frame.ts";
import type { ActiveCalls } from "./active-calls.ts";
import { admittedMethod, requireScope } from "./admission.ts";
import type { Credentials } from "./credentials.ts";
import { type HttpRequest, type HttpResponse, headerOf, securityHeaders } from "./json-answer.ts";
import { presentedBy } from "./presented.ts";
import { deltaFrame, resetFrame, taskEventFrames } from "./task-event-frames.ts";

/** What the stream of events needs; the times are milliseconds. */
export interface TaskEventsParts {
  readonly credentials: Credentials;
  readonly orchestrator: Transport;
  readonly calls: ActiveCalls;
  /** Longest silence before a comment is written. */
  readonly heartbeatMs: number;
  /** How long a client may leave a write unread before it is cut; it resumes from its last id. */
  readonly stallMs: number;
}

const watchTask = "/drover.orchestrator.v1.TaskService/WatchTask";

/** The task's id in `/v1/tasks/{id}/events`, or undefined for another path. */
export function taskOfPath(path: string): string | undefined {
  return /^\/v1\/tasks\/([^/]+)\/events$/.exec(path)?.[1];
}

/**
 * `GET /v1/tasks/{id}/events`: WatchTask as server-sent events. A refusal before the first event is a JSON
 * error (thrown here); after it the response ends and the client resumes with `Last-Event-ID`. Ends after a
 * `task.completed` that nothing follows: a task that was resumed goes on.
 */
export function createTaskEvents(
  parts: TaskEventsParts,
): (request: HttpRequest, response: HttpResponse, taskId: string) => Promise<void> {
  const client = createClient(TaskService, parts.orchestrator);
  return async (request, response, taskId) => {
    if (request.method !== "GET") throw new DroverError("UNIMPLEMENTED", "A stream of events takes GET.");
    const principal = await parts.credentials.any(presentedBy(request), false);
    requireScope(principal, admittedMethod(watchTask));
    const body = create(WatchTaskRequestSchema, {
      taskId: decodedId(taskId),
      afterSequence: parseLastEventId(headerOf(request, "last-event-id")),
      includeDeltas: true,
    });
    const watching = new AbortController();
    const call = { resumable: true, end: (error: DroverError) => watching.abort(error) };
    response.once("close", () => watching.abort(new DroverError("CANCELLED", "The client went away.")));
    parts.calls.add(call);
    try {
      await follow(client.watchTask(body, callOptions(principal, watching.signal)), response, parts, watching);
    } finally {
      parts.calls.delete(call);
      watching.abort(new DroverError("CANCELLED", "The stream has ended."));
    }
  };
}

function decodedId(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalidField("task_id", JSON.stringify(segment.slice(0, 40)), "the id of a task");
  }
}

function callOptions({ tenant, subject, scopes }: Principal, signal: AbortSignal) {
  return { signal, contextValues: actingAs({ tenant, subject, scopes }) };
}

/** Writes what comes, at the reader's pace. Throws only while nothing has been written. */
async function follow(
  messages: AsyncIterable<WatchTaskResponse>,
  response: HttpResponse,
  parts: TaskEventsParts,
  watching: AbortController,
): Promise<void> {
  let writer: SseWriter | undefined;
  try {
    for await (const { message } of messages) {
      writer ??= new SseWriter(response, parts, watching);
      if (message.case === "delta") await writer.write(deltaFrame(message.value));
      if (message.case === "reset") await writer.write(resetFrame(message.value));
      if (message.case !== "event") continue;
      const frames = taskEventFrames(message.value);
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

  constructor(response: HttpResponse, parts: TaskEventsParts, watching: AbortController) {
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

  /** Ends the response, with a comment that says why where it was not the end of the task. */
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
