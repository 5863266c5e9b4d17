import { decodePageToken, encodePageToken, invalidField, isId, notFound, pageSize } from "@drover/kernel";
import { checkTaskId } from "../domain/submission.ts";
import type { Task } from "../domain/task.ts";
import type { TaskState } from "../domain/task-state.ts";
import type { TaskStore } from "./ports.ts";

/** A task as it is now. NOT_FOUND also for one of another tenant. */
export async function getTask(store: Pick<TaskStore, "get">, tenant: string, taskId: string): Promise<Task> {
  checkTaskId(taskId);
  const task = await store.get(tenant, taskId);
  if (task === undefined) throw notFound("task", taskId);
  return task;
}

/** One page of tasks. */
export interface TaskPage {
  readonly tasks: readonly Task[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** The tenant's tasks in one of `states` (empty: all), newest first. INVALID_ARGUMENT for a bad page. */
export async function listTasks(
  store: TaskStore,
  tenant: string,
  request: { readonly states: readonly TaskState[]; readonly pageSize: number; readonly pageToken: string },
): Promise<TaskPage> {
  const size = pageSize(request.pageSize);
  const scope = `tasks:${[...new Set(request.states)].sort().join(",")}`;
  const [before] = decodePageToken(scope, request.pageToken) ?? [];
  if (before !== undefined && !isId(before)) {
    throw invalidField("page_token", "a token that was not made here", "the next_page_token of the same list");
  }
  const tasks = await store.list(tenant, request.states, size + 1, before);
  const page = tasks.slice(0, size);
  const last = page.at(-1);
  const more = tasks.length > size && last !== undefined;
  return { tasks: page, nextPageToken: more ? encodePageToken(scope, [last.id]) : "" };
}
