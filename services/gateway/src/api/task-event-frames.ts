import { toJson } from "@bufbuild/protobuf";
import { type TokenDelta, TokenDeltaSchema } from "@drover/proto/event/v1/bus";
import { type TaskEvent, TaskEventSchema } from "@drover/proto/event/v1/task_event";
import { type WatchReset, WatchResetSchema } from "@drover/proto/orchestrator/v1/task_service";
import { sseFrame } from "../domain/sse-frame.ts";

const eventNames = {
  statusChanged: "task.status.changed",
  assistantMessage: "agent.message.completed",
  toolCallRequested: "tool.call.requested",
  toolCallCompleted: "tool.call.completed",
  taskCompleted: "task.completed",
  approvalRequired: "approval.required",
  approvalDecided: "approval.decided",
  verificationCompleted: "verification.completed",
  notice: "task.notice",
} as const satisfies Record<NonNullable<TaskEvent["event"]["case"]>, string>;

const json = { alwaysEmitImplicit: true } as const;

/**
 * A committed event as SSE text; its id is its sequence. Undefined for a case that this version does not know.
 */
export function taskEventFrames(event: TaskEvent): string | undefined {
  const name = event.event.case === undefined ? undefined : eventNames[event.event.case];
  if (name === undefined) return undefined;
  const data = JSON.stringify(toJson(TaskEventSchema, event, json));
  return sseFrame({ id: String(event.sequence), event: name, data });
}

/** A piece of the model's text as SSE text: without an id, because a resume does not begin after it. */
export function deltaFrame(delta: TokenDelta): string {
  return sseFrame({ event: "agent.message.delta", data: JSON.stringify(toJson(TokenDeltaSchema, delta, json)) });
}

/**
 * A reset as SSE text: what came before is replaced by the task in it. Its id is the sequence that the next events come
 * after, so that a client which is cut right then goes on from there.
 */
export function resetFrame(reset: WatchReset): string {
  const data = JSON.stringify(toJson(WatchResetSchema, reset, json));
  return sseFrame({ id: String(reset.sequence), event: "task.reset", data });
}
