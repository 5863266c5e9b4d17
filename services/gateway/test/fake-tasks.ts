import { setTimeout as sleep } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { invalidField, notFound } from "@drover/kernel";
import { type TaskEvent, TaskEventSchema, TaskState } from "@drover/proto/event/v1/task_event";
import {
  type SubmitTaskRequest,
  SubmitTaskResponseSchema,
  type TaskService,
  WatchTaskResponseSchema,
} from "@drover/proto/orchestrator/v1/task_service";
import { type Caller, callerOf, traceOf } from "@drover/rpc";

/** How many events the log of {@link fakeTasks} has; the last one ends the task. */
export const logLength = 60;

const log: readonly TaskEvent[] = Array.from({ length: logLength }, (_, index) => {
  const sequence = BigInt(index + 1);
  const ends = index === logLength - 1;
  return create(TaskEventSchema, {
    taskId: "long",
    sequence,
    event: ends
      ? { case: "taskCompleted", value: { state: TaskState.SUCCEEDED, answer: "done" } }
      : { case: "assistantMessage", value: { step: sequence, text: `line ${sequence}\nsecond` } },
  });
});

/** What a fake orchestrator saw. */
export interface Seen {
  caller?: Caller;
  traceId?: string;
  headers?: Record<string, string>;
  request?: SubmitTaskRequest;
  timeoutMs?: number | undefined;
  /** Names of calls whose signal aborted. */
  readonly aborted: string[];
}

/**
 * An orchestrator whose tasks are named after what they do: "long" has a log, "endless" sends heartbeats,
 * "slow" never answers, "broken" fails in mid-stream, "flood" sends big deltas without end.
 */
export function fakeTasks(seen: Seen): Partial<ServiceImpl<typeof TaskService>> {
  const note = (context: HandlerContext) => {
    seen.caller = callerOf(context);
    seen.traceId = traceOf(context)?.traceId ?? "";
    seen.headers = Object.fromEntries(context.requestHeader.entries());
    seen.timeoutMs = context.timeoutMs();
  };
  return {
    submitTask(request, context) {
      note(context);
      seen.request = request;
      if (request.prompt === "") throw invalidField("prompt", "nothing", "1 to 100,000 characters");
      const response = create(SubmitTaskResponseSchema, { task: { id: "t1", prompt: request.prompt } });
      response.$unknown = request.$unknown;
      return response;
    },
    async getTask({ taskId }, context) {
      note(context);
      if (taskId === "slow") {
        await new Promise((resolve) => context.signal.addEventListener("abort", resolve, { once: true }));
        seen.aborted.push("getTask");
      }
      if (taskId === "nobody") throw notFound("task", taskId);
      return { task: { id: taskId } };
    },
    async *watchTask({ taskId, afterSequence, includeDeltas }, context) {
      note(context);
      context.signal.addEventListener("abort", () => seen.aborted.push(`watch ${taskId}`), { once: true });
      if (taskId === "nobody") throw notFound("task", taskId);
      yield heartbeat(afterSequence);
      if (taskId === "long") yield* replay(afterSequence, includeDeltas);
      if (taskId === "broken") throw new Error("a fault of our own");
      while (taskId === "flood" && !context.signal.aborted) yield delta("x".repeat(60_000));
      while (taskId === "endless" && !context.signal.aborted) {
        await sleep(20);
        yield heartbeat(0n);
      }
    },
  };
}

async function* replay(afterSequence: bigint, includeDeltas: boolean) {
  for (const event of log) {
    if (event.sequence <= afterSequence) continue;
    if (event.sequence % 5n === 0n) await sleep(2);
    if (includeDeltas) yield delta("line");
    yield message({ case: "event", value: event });
  }
}

type WatchMessage = NonNullable<MessageInitShape<typeof WatchTaskResponseSchema>["message"]>;

function message(of: WatchMessage) {
  return create(WatchTaskResponseSchema, { message: of });
}

function heartbeat(sequence: bigint) {
  return message({ case: "heartbeat", value: { sequence } });
}

function delta(text: string) {
  return message({ case: "delta", value: { taskId: "long", text } });
}
