import type { DescEnum } from "@bufbuild/protobuf";
import { TaskState, TaskStateSchema, ToolCallState, ToolCallStateSchema } from "@drover/proto/event/v1/task_event";
import { type Mode, ModeSchema } from "@drover/proto/orchestrator/v1/task";

/** A task's state in words: `waiting for approval`. */
export function stateName(state: TaskState): string {
  return state === TaskState.WAITING_APPROVAL ? "waiting for approval" : nameIn(TaskStateSchema, state);
}

/** A tool call's state in words. */
export function callStateName(state: ToolCallState): string {
  return state === ToolCallState.UNKNOWN ? "outcome unknown" : nameIn(ToolCallStateSchema, state);
}

/** A mode as it is written on the command line: `react`. */
export function modeName(mode: Mode): string {
  return nameIn(ModeSchema, mode);
}

/** True for a state that a task never leaves. */
export function isOver(state: TaskState): boolean {
  return state === TaskState.SUCCEEDED || state === TaskState.FAILED || state === TaskState.CANCELLED;
}

/** A value of an enum in words, without its prefix: `output limit`. Unknown values are `unknown`. */
export function nameIn(schema: DescEnum, value: number): string {
  return (schema.value[value]?.localName ?? "unknown").toLowerCase().replaceAll("_", " ");
}
