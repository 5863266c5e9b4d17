import { createClient, type Transport } from "@connectrpc/connect";
import { invalidField } from "@drover/kernel";
import { TaskService, type WatchTaskResponse } from "@drover/proto/orchestrator/v1/task_service";
import type { HttpRequest, HttpResponse } from "./json-answer.ts";
import { type EventStreamParts, serveEvents } from "./serve-events.ts";
import { deltaFrame, resetFrame, taskEventFrames } from "./task-event-frames.ts";

/** The task's id in `/v1/tasks/{id}/events`, or undefined for another path. */
export function taskOfPath(path: string): string | undefined {
  return /^\/v1\/tasks\/([^/]+)\/events$/.exec(path)?.[1];
}

/**
 * `GET /v1/tasks/{id}/events`: WatchTask as server-sent events. Ends after a `task.completed` that nothing follows: a
 * task that was resumed goes on.
 */
export function createTaskEvents(
  parts: EventStreamParts & { readonly orchestrator: Transport },
): (request: HttpRequest, response: HttpResponse, taskId: string) => Promise<void> {
  const client = createClient(TaskService, parts.orchestrator);
  return (request, response, taskId) =>
    serveEvents(parts, request, response, {
      method: "/drover.orchestrator.v1.TaskService/WatchTask",
      watch: (afterSequence, options) =>
        client.watchTask({ taskId: decodedId(taskId), afterSequence, includeDeltas: true }, options),
      framesOf,
    });
}

function framesOf({ message }: WatchTaskResponse): string | undefined {
  switch (message.case) {
    case "delta":
      return deltaFrame(message.value);
    case "reset":
      return resetFrame(message.value);
    case "event":
      return taskEventFrames(message.value);
    default:
      return undefined;
  }
}

function decodedId(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw invalidField("task_id", JSON.stringify(segment.slice(0, 40)), "the id of a task");
  }
}
