import type { ServiceImpl } from "@connectrpc/connect";
import { invalidField } from "@drover/kernel";
import { TaskState as ProtoState } from "@drover/proto/event/v1/task_event";
import { Mode } from "@drover/proto/orchestrator/v1/task";
import type { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { callerOf } from "@drover/rpc";
import type { Tracer } from "@drover/tracing";
import { cancelTask } from "../application/cancel-task.ts";
import type { TaskSignals, TaskStore } from "../application/ports.ts";
import { getTask, listTasks } from "../application/read-tasks.ts";
import { type SubmissionDefaults, submitTask } from "../application/submit-task.ts";
import { type WatchParts, watchTask } from "../application/watch-task.ts";
import type { TaskMode } from "../domain/task.ts";
import { type TaskState, taskStates } from "../domain/task-state.ts";
import { taskMessage, watchMessage } from "./to-proto.ts";

/** The rpcs of TaskService over the use cases. */
export function createTaskService(parts: {
  readonly store: TaskStore;
  readonly signals: TaskSignals;
  readonly tracer: Tracer;
  readonly defaults: SubmissionDefaults;
  readonly watch: WatchParts;
}): Partial<ServiceImpl<typeof TaskService>> {
  const { store } = parts;
  return {
    async submitTask(request, context) {
      const task = await submitTask(parts, callerOf(context), {
        requestId: request.requestId,
        prompt: request.prompt,
        mode: modes.get(request.mode) ?? Number(request.mode),
        conversationId: request.conversationId,
        workspaceId: request.workspaceId,
        maxRounds: request.maxRounds,
        model: request.model,
        collection: request.collection,
      });
      return { task: taskMessage(task) };
    },
    async getTask({ taskId }, context) {
      return { task: taskMessage(await getTask(store, callerOf(context).tenant, taskId)) };
    },
    async listTasks({ states, pageSize, pageToken }, context) {
      const query = { states: states.map(stateOf), pageSize, pageToken };
      const page = await listTasks(store, callerOf(context).tenant, query);
      return { tasks: page.tasks.map(taskMessage), nextPageToken: page.nextPageToken };
    },
    async *watchTask({ taskId, afterSequence, includeDeltas }, context) {
      const request = { taskId, afterSequence: safeSequence(afterSequence), includeDeltas };
      for await (const message of watchTask(parts.watch, callerOf(context).tenant, request, context.signal)) {
        yield watchMessage(message);
      }
    },
    async cancelTask({ taskId, reason, expectedVersion }, context) {
      return {
        task: taskMessage(
          await cancelTask(parts, callerOf(context), {
            taskId,
            reason,
            expectedVersion: safeSequence(expectedVersion),
          }),
        ),
      };
    },
  };
}

/** An unspecified mode is the one that is offered; a number without a name has no entry. */
const modes: ReadonlyMap<number, TaskMode> = new Map<number, TaskMode>([
  [Mode.UNSPECIFIED, "REACT"],
  [Mode.CHAT, "CHAT"],
  [Mode.RAG, "RAG"],
  [Mode.REACT, "REACT"],
  [Mode.PSE, "PSE"],
]);

function stateOf(value: number, index: number): TaskState {
  const state = taskStates.find((name) => ProtoState[name] === value);
  if (state === undefined) throw invalidField(`states[${index}]`, String(value), `one of ${taskStates.join(", ")}`);
  return state;
}

function safeSequence(value: bigint): number {
  const sequence = Number(value);
  if (!Number.isSafeInteger(sequence)) {
    throw invalidField("after_sequence", String(value), "0 or a sequence that was received");
  }
  return sequence;
}
