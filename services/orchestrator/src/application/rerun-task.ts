import { invalidFields, newId } from "@drover/kernel";
import { newTraceContext } from "@drover/tracing";
import { requestIdFaults } from "../domain/submission.ts";
import type { Task } from "../domain/task.ts";
import { digest } from "./digest.ts";
import { getTask } from "./read-tasks.ts";
import { type Requester, recordTask, type SubmitParts } from "./submit-task.ts";

/**
 * Submits a task once more, as its caller's, under a new id and in a conversation of its own. It gets the workspace that
 * came with the first submission, not one that the old task made for itself. The old task stays as it is. Throws
 * NOT_FOUND, ALREADY_EXISTS, RESOURCE_EXHAUSTED.
 */
export async function rerunTask(
  parts: SubmitParts,
  requester: Requester,
  request: { readonly taskId: string; readonly requestId: string },
): Promise<Task> {
  const old = await getTask(parts.store, requester.tenant, request.taskId);
  const faults = requestIdFaults(request.requestId);
  if (faults.length > 0) throw invalidFields(faults);
  const { mode, prompt, model, collection, maxRounds, agent, agentBody, priority, budgets } = old;
  return await recordTask(
    parts,
    requester,
    {
      ...{ mode, prompt, model, collection, maxRounds, agent, agentBody, priority, budgets },
      tenant: requester.tenant,
      id: newId(),
      conversationId: newId(),
      workspaceId: old.workspaceGiven ? old.workspaceId : undefined,
      traceId: newTraceContext().traceId,
      createdBy: requester.subject,
      rerunOf: old.id,
      conversationPolicy: "QUEUE",
    },
    {
      method: "RerunTask",
      id: request.requestId,
      bodyHash: digest(JSON.stringify([requester.subject, request.taskId])),
    },
  );
}
