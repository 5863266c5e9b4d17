import { DroverError, newId } from "@drover/kernel";
import { newTraceContext, type Tracer } from "@drover/tracing";
import { budgetsOf } from "../domain/requested-budgets.ts";
import { checkSubmission, requestIdTaken, type Submission } from "../domain/submission.ts";
import type { Task, TaskBudgets } from "../domain/task.ts";
import { digest } from "./digest.ts";
import type { AgentStore, NewTask, TaskSignals, TaskStore } from "./ports.ts";
import { resolveAgent } from "./resolve-agent.ts";
import { tellEnd } from "./tell-end.ts";

/** Who asks. */
export interface Requester {
  readonly tenant: string;
  readonly subject: string;
}

/** Values for what a submission leaves open. */
interface SubmissionDefaults {
  readonly model: string;
  readonly maxRounds: number;
  readonly collection: string;
  readonly budgets: TaskBudgets;
  /** Tasks of a tenant that may wait. */
  readonly maxQueued: number;
}

/** What recording a task needs. */
export interface SubmitParts {
  readonly store: TaskStore;
  readonly agents: Pick<AgentStore, "get">;
  readonly signals: TaskSignals;
  readonly tracer: Tracer;
  readonly defaults: SubmissionDefaults;
}

/**
 * Records a task and wakes a worker. The same request id with the same body answers with the same task as it is now.
 * Throws INVALID_ARGUMENT with every fault, NOT_FOUND for an unknown agent, ALREADY_EXISTS for a request id that was
 * used otherwise, RESOURCE_EXHAUSTED where too many wait, FAILED_PRECONDITION where the conversation is busy.
 */
export async function submitTask(parts: SubmitParts, requester: Requester, submission: Submission): Promise<Task> {
  checkSubmission(submission);
  const { defaults } = parts;
  const agent = await resolveAgent(parts.agents, requester.tenant, submission.agent);
  const task: NewTask = {
    tenant: requester.tenant,
    id: newId(),
    mode: submission.mode,
    prompt: submission.prompt,
    model: submission.model || agent.model || defaults.model,
    collection: submission.collection || defaults.collection,
    conversationId: submission.conversationId || newId(),
    workspaceId: submission.workspaceId || undefined,
    traceId: newTraceContext().traceId,
    createdBy: requester.subject,
    maxRounds: submission.budgets.rounds || submission.maxRounds || agent.budgets.rounds || defaults.maxRounds,
    agent: submission.agent,
    agentBody: { ...agent },
    priority: submission.priority,
    rerunOf: undefined,
    budgets: budgetsOf(submission.budgets, agent.budgets, defaults.budgets),
    conversationPolicy: submission.conversationPolicy,
  };
  return await recordTask(parts, requester, task, {
    method: "SubmitTask",
    id: submission.requestId,
    bodyHash: bodyHash(requester.subject, submission),
  });
}

/** Records a checked task, unless its request id says that it was recorded already. Errors as for {@link submitTask}. */
export async function recordTask(
  parts: SubmitParts,
  { tenant, subject }: Requester,
  task: NewTask,
  request: { readonly method: "SubmitTask" | "RerunTask"; readonly id: string; readonly bodyHash: string },
): Promise<Task> {
  const { store, defaults } = parts;
  const submitted = await store.submit(task, request, defaults.maxQueued);
  if (submitted.outcome === "full") throw queueFull(defaults.maxQueued);
  if (submitted.outcome === "busy") throw conversationBusy(`task ${submitted.taskId}`);
  if (submitted.outcome === "conflict") throw requestIdTaken(request.id);
  if (submitted.outcome === "created") {
    parts.signals.ready(submitted.taskId);
    for (const other of submitted.interrupted) await announceInterrupted(parts, tenant, subject, other);
  }
  const recorded = await store.get(tenant, submitted.taskId);
  // An old request id can outlive its task.
  if (recorded === undefined) throw requestIdTaken(request.id);
  return recorded;
}

const interruption = "interrupted by a newer task";

/** Stops a task that was told to end; where nobody worked on it, it has ended already. */
async function announceInterrupted(parts: SubmitParts, tenant: string, actor: string, taskId: string): Promise<void> {
  parts.signals.cancelled(tenant, taskId, actor, interruption);
  parts.signals.ready(taskId);
  const other = await parts.store.get(tenant, taskId);
  if (other?.state === "CANCELLED") {
    tellEnd(parts, other, { actor, reason: interruption, input: "cancel_requested" });
  }
}

/** When trying again makes sense where a queue is full. */
const queueRetryMs = 5_000;

/** RESOURCE_EXHAUSTED where `most` tasks of the tenant wait already. */
export function queueFull(most: number): DroverError {
  return new DroverError("RESOURCE_EXHAUSTED", `${most} tasks of this tenant wait already. Try again later.`, {
    reason: "TASK_QUEUE_FULL",
    retryAfterMs: queueRetryMs,
    metadata: { limit: String(most) },
  });
}

/** FAILED_PRECONDITION where the conversation has another task, `which`, that has not ended. */
export function conversationBusy(which: string): DroverError {
  return new DroverError("FAILED_PRECONDITION", `The conversation is busy with ${which}, which has not ended.`, {
    reason: "CONVERSATION_BUSY",
  });
}

function bodyHash(subject: string, submission: Submission): string {
  const { requestId: _, ...body } = submission;
  return digest(JSON.stringify([subject, Object.entries(body).sort(byName)]));
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}
