import type { ServiceImpl } from "@connectrpc/connect";
import type { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { callerOf } from "@drover/rpc";
import { cancelTask } from "../application/cancel-task.ts";
import { deleteTask } from "../application/delete-task.ts";
import { listSteps, listToolCalls, listTransitions } from "../application/list-records.ts";
import { getTask, listTasks } from "../application/read-tasks.ts";
import type { TaskRecords } from "../application/record-ports.ts";
import { rerunTask } from "../application/rerun-task.ts";
import { resumeTask } from "../application/resume-task.ts";
import { type SubmitParts, submitTask } from "../application/submit-task.ts";
import { type WatchParts, watchTask } from "../application/watch-task.ts";
import { budgetsFrom, conversationPolicyOf, modeOf, sequenceFrom, stateFrom, versionFrom } from "./from-proto.ts";
import { callMessage, stepMessage, transitionMessage } from "./records-to-proto.ts";
import { taskMessage, watchMessage } from "./to-proto.ts";

/** What TaskService is made of. */
export interface TaskServiceParts extends SubmitParts {
  readonly records: TaskRecords;
  readonly watch: WatchParts;
}

/** The rpcs of TaskService over the use cases. */
export function createTaskService(parts: TaskServiceParts): ServiceImpl<typeof TaskService> {
  return { ...lifeOfTasks(parts), ...recordsOfTasks(parts) };
}

type Life = "submitTask" | "cancelTask" | "resumeTask" | "rerunTask" | "deleteTask";

function lifeOfTasks(parts: TaskServiceParts): Pick<ServiceImpl<typeof TaskService>, Life> {
  return {
    async submitTask(request, context) {
      const { requestId, prompt, conversationId, workspaceId, maxRounds, model, collection, agent, priority } = request;
      const task = await submitTask(parts, callerOf(context), {
        ...{ requestId, prompt, conversationId, workspaceId, maxRounds, model, collection, agent, priority },
        mode: modeOf(request.mode),
        budgets: budgetsFrom(request.budgets),
        conversationPolicy: conversationPolicyOf(request.conversationPolicy),
      });
      return { task: taskMessage(task) };
    },
    async cancelTask({ taskId, reason, expectedVersion }, context) {
      const request = { taskId, reason, expectedVersion: versionFrom(expectedVersion) };
      return { task: taskMessage(await cancelTask(parts, callerOf(context), request)) };
    },
    async resumeTask({ taskId, requestId, expectedVersion, budgets }, context) {
      const expected = versionFrom(expectedVersion);
      const request = { taskId, requestId, expectedVersion: expected, budgets: budgetsFrom(budgets) };
      return { task: taskMessage(await resumeTask(parts, callerOf(context), request)) };
    },
    async rerunTask({ taskId, requestId }, context) {
      return { task: taskMessage(await rerunTask(parts, callerOf(context), { taskId, requestId })) };
    },
    async deleteTask({ taskId }, context) {
      await deleteTask(parts.records, callerOf(context).tenant, taskId);
      return {};
    },
  };
}

function recordsOfTasks(parts: TaskServiceParts): Omit<ServiceImpl<typeof TaskService>, Life> {
  return {
    async getTask({ taskId }, context) {
      return { task: taskMessage(await getTask(parts.store, callerOf(context).tenant, taskId)) };
    },
    async listTasks({ states, pageSize, pageToken }, context) {
      const query = { states: states.map(stateFrom), pageSize, pageToken };
      const page = await listTasks(parts.store, callerOf(context).tenant, query);
      return { tasks: page.tasks.map(taskMessage), nextPageToken: page.nextPageToken };
    },
    async *watchTask({ taskId, afterSequence, includeDeltas }, context) {
      const request = { taskId, afterSequence: sequenceFrom(afterSequence), includeDeltas };
      for await (const message of watchTask(parts.watch, callerOf(context).tenant, request, context.signal)) {
        yield watchMessage(message);
      }
    },
    async listTransitions(request, context) {
      const { records, nextPageToken } = await listTransitions(parts, callerOf(context).tenant, request);
      return { transitions: records.map(transitionMessage), nextPageToken };
    },
    async listSteps(request, context) {
      const { records, nextPageToken } = await listSteps(parts, callerOf(context).tenant, request);
      return { steps: records.map(stepMessage), nextPageToken };
    },
    async listToolCalls(request, context) {
      const { records, nextPageToken } = await listToolCalls(parts, callerOf(context).tenant, request);
      return { toolCalls: records.map(callMessage), nextPageToken };
    },
  };
}
