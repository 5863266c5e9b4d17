import { DroverError, invalidFields, notFound } from "@drover/kernel";
import { type AgentBudgets, budgetFaults } from "../domain/agent.ts";
import { checkTaskId, requestIdFaults, requestIdTaken, staleVersion } from "../domain/submission.ts";
import type { Task } from "../domain/task.ts";
import { digest } from "./digest.ts";
import type { TaskSignals, TaskStore } from "./ports.ts";
import { getTask } from "./read-tasks.ts";
import type { TaskRecords } from "./record-ports.ts";
import { conversationBusy, queueFull, type Requester } from "./submit-task.ts";

/** What to go on with, and with how much. */
export interface ResumeRequest {
  readonly taskId: string;
  readonly requestId: string;
  readonly expectedVersion: number;
  readonly budgets: AgentBudgets;
}

/**
 * Goes on with a task that FAILED or was CANCELLED, from its last committed step, on any replica. The same request id
 * with the same body answers with the task as it is. Throws NOT_FOUND, FAILED_PRECONDITION (it runs, it SUCCEEDED, its
 * conversation has another task), ABORTED (another version), ALREADY_EXISTS, RESOURCE_EXHAUSTED.
 */
export async function resumeTask(
  parts: {
    readonly store: TaskStore;
    readonly records: TaskRecords;
    readonly signals: TaskSignals;
    readonly defaults: { readonly maxQueued: number };
  },
  { tenant, subject }: Requester,
  request: ResumeRequest,
): Promise<Task> {
  const { taskId, requestId, expectedVersion, budgets } = request;
  checkTaskId(taskId);
  const faults = [...requestIdFaults(requestId), ...budgetFaults("budgets", budgets)];
  if (faults.length > 0) throw invalidFields(faults);
  const { outcome, lastSequence } = await parts.records.resume(tenant, taskId, {
    ...{ actor: subject, expectedVersion, budgets, requestId, maxQueued: parts.defaults.maxQueued },
    bodyHash: digest(JSON.stringify([subject, taskId, expectedVersion, Object.entries(budgets).sort()])),
  });
  switch (outcome) {
    case "not_found":
      throw notFound("task", taskId);
    case "running":
      throw notResumable("TASK_RUNNING", "The task has not ended. There is nothing to resume.");
    case "succeeded":
      throw notResumable("TASK_SUCCEEDED", "The task has succeeded. Rerun it to do it again.");
    case "stale":
      throw staleVersion(expectedVersion);
    case "busy":
      throw conversationBusy("another task");
    case "full":
      throw queueFull(parts.defaults.maxQueued);
    case "conflict":
      throw requestIdTaken(requestId);
    case "existing":
      break;
    case "resumed":
      parts.signals.committed(tenant, taskId, lastSequence);
      parts.signals.ready(taskId);
  }
  return await getTask(parts.store, tenant, taskId);
}

function notResumable(reason: string, message: string): DroverError {
  return new DroverError("FAILED_PRECONDITION", message, { reason });
}
