import { DroverError, newId } from "@drover/kernel";
import { newTraceContext } from "@drover/tracing";
import { checkSubmission, requestIdTaken, type Submission } from "../domain/submission.ts";
import type { Task, TaskBudgets } from "../domain/task.ts";
import { digest } from "./digest.ts";
import type { SubmitOutcome, TaskSignals, TaskStore } from "./ports.ts";

/** Who asks. */
export interface Requester {
  readonly tenant: string;
  readonly subject: string;
}

/** Values for what a submission leaves open. */
export interface SubmissionDefaults {
  readonly model: string;
  readonly maxRounds: number;
  readonly collection: string;
  readonly budgets: TaskBudgets;
  /** Tasks of a tenant that may wait. */
  readonly maxQueued: number;
}

/**
 * Records a task and wakes a worker. The same request id with the same body answers with the same
 * task as it is now. Throws INVALID_ARGUMENT with every fault, ALREADY_EXISTS for a request id that
 * was used otherwise.
 */
export async function submitTask(
  parts: { readonly store: TaskStore; readonly signals: TaskSignals; readonly defaults: SubmissionDefaults },
  requester: Requester,
  submission: Submission,
): Promise<Task> {
  checkSubmission(submission);
  const { store, signals, defaults } = parts;
  const { tenant, subject } = requester;
  const task = {
    tenant,
    id: newId(),
    mode: submission.mode,
    prompt: submission.prompt,
    model: submission.model || defaults.model,
    collection: submission.collection || defaults.collection,
    conversationId: submission.conversationId || newId(),
    workspaceId: submission.workspaceId || undefined,
    traceId: newTraceContext().traceId,
    createdBy: subject,
    maxRounds: submission.maxRounds || defaults.maxRounds,
    agent: "",
    agentBody: {},
    priority: 0,
    rerunOf: undefined,
    budgets: defaults.budgets,
    conversationPolicy: "QUEUE",
  } as const;
  const request = {
    method: "SubmitTask",
    id: submission.requestId,
    bodyHash: await bodyHash(subject, submission),
  } as const;
  const submitted = await store.submit(task, request, defaults.maxQueued);
  if (submitted.outcome === "full") throw queueFull(defaults.maxQueued);
  if (submitted.outcome === "busy") throw conversationBusy(submitted.taskId);
  if (submitted.outcome === "conflict") throw requestIdTaken(submission.requestId);
  if (submitted.outcome === "created") announce(signals, tenant, subject, submitted);
  const recorded = await store.get(tenant, submitted.taskId);
  // An old request id can outlive its task.
  if (recorded === undefined) throw requestIdTaken(submission.requestId);
  return recorded;
}

function announce(
  signals: TaskSignals,
  tenant: string,
  actor: string,
  created: SubmitOutcome & { readonly outcome: "created" },
): void {
  for (const other of created.interrupted) {
    signals.cancelled(tenant, other, actor, "interrupted by a newer task");
    signals.ready(other);
  }
  signals.ready(created.taskId);
}

function queueFull(most: number): DroverError {
  return new DroverError("RESOURCE_EXHAUSTED", `${most} tasks of this tenant wait already; submit again later.`, {
    reason: "TASK_QUEUE_FULL",
    retryable: true,
  });
}

function conversationBusy(taskId: string): DroverError {
  return new DroverError("FAILED_PRECONDITION", `The conversation's task ${taskId} has not ended.`, {
    reason: "CONVERSATION_BUSY",
  });
}

function bodyHash(subject: string, submission: Submission): Promise<string> {
  const { requestId: _, ...body } = submission;
  return digest(JSON.stringify([subject, Object.entries(body).sort()]));
}
