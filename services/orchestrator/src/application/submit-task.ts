import { newId } from "@drover/kernel";
import { newTraceContext } from "@drover/tracing";
import { checkSubmission, requestIdTaken, type Submission } from "../domain/submission.ts";
import type { Task } from "../domain/task.ts";
import type { TaskSignals, TaskStore } from "./ports.ts";

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
  } as const;
  const request = { id: submission.requestId, bodyHash: await bodyHash(subject, submission) };
  const { outcome, taskId } = await store.submit(task, request);
  if (outcome === "conflict") throw requestIdTaken(submission.requestId);
  if (outcome === "created") signals.ready(taskId);
  const recorded = await store.get(tenant, taskId);
  // An old request id can outlive its task.
  if (recorded === undefined) throw requestIdTaken(submission.requestId);
  return recorded;
}

async function bodyHash(subject: string, submission: Submission): Promise<string> {
  const { requestId: _, ...body } = submission;
  const bytes = new TextEncoder().encode(JSON.stringify([subject, Object.entries(body).sort()]));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
