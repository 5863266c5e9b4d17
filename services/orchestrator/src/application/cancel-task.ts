import { notFound } from "@drover/kernel";
import type { Tracer } from "@drover/tracing";
import { checkCancelReason, checkTaskId, staleVersion } from "../domain/submission.ts";
import type { Task } from "../domain/task.ts";
import type { TaskSignals, TaskStore } from "./ports.ts";
import type { Requester } from "./submit-task.ts";
import { tellEnd } from "./tell-end.ts";

/**
 * Records the wish to end a task, then announces it, so that everybody who works for it stops at
 * once. A task that nobody works on has ended with it. Idempotent; a task that has ended stays as it
 * is. NOT_FOUND also for one of another tenant; ABORTED where it has another version than expected.
 */
export async function cancelTask(
  parts: { readonly store: TaskStore; readonly signals: TaskSignals; readonly tracer: Tracer },
  requester: Requester,
  request: { readonly taskId: string; readonly reason: string; readonly expectedVersion: number },
): Promise<Task> {
  const { store, signals } = parts;
  const { tenant, subject } = requester;
  checkTaskId(request.taskId);
  checkCancelReason(request.reason);
  const { reason, expectedVersion } = request;
  const wish = { actor: subject, reason, expectedVersion };
  const { outcome } = await store.cancel(tenant, request.taskId, wish);
  if (outcome === "not_found") throw notFound("task", request.taskId);
  if (outcome === "stale") throw staleVersion(expectedVersion);
  if (outcome !== "ended") signals.cancelled(tenant, request.taskId, subject, request.reason);
  if (outcome === "requested") signals.ready(request.taskId);
  const task = await store.get(tenant, request.taskId);
  if (task === undefined) throw notFound("task", request.taskId);
  if (outcome === "cancelled") tellEnd(parts, task, { actor: subject, reason, input: "cancel_requested" });
  return task;
}
