import type { TaskEvent } from "@drover/proto/event/v1/task_event";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { connectClient } from "./clients.ts";

/** All events of a task from the first to the end of the stream. */
export async function watch(
  suite: { readonly url: string; readonly apiKey: string },
  taskId: string,
  signal?: AbortSignal,
): Promise<TaskEvent[]> {
  const events: TaskEvent[] = [];
  const options = signal === undefined ? {} : { signal };
  for await (const { message } of connectClient(TaskService, suite.url, suite.apiKey).watchTask({ taskId }, options)) {
    if (message.case === "event") events.push(message.value);
  }
  return events;
}
