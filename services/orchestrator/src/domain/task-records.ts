import type { TaskUsage } from "./task.ts";
import type { TaskState } from "./task-state.ts";
import type { ToolCallState } from "./tool-call-state.ts";

/** One transition, as it was recorded. */
export interface TransitionRecord {
  /** Version of the task with it. */
  readonly version: number;
  readonly from: TaskState | "UNSPECIFIED";
  readonly to: TaskState;
  readonly actor: string;
  readonly reason: string;
  readonly inputEvent: string;
  /** Sequence of the event that tells of it. */
  readonly outputEvent: number;
  readonly at: Date;
}

/** One step, as people are shown it. */
export interface StepRecord {
  readonly seq: number;
  readonly round: number;
  readonly kind: string;
  /** As it is recorded; a prompt is not redacted. */
  readonly text: string;
  /** Empty for a step that is not a turn. */
  readonly model: string;
  readonly finishReason: string;
  readonly decision: string;
  readonly usage: TaskUsage | undefined;
  readonly role: string;
  readonly at: Date;
}

/** One call, as people are shown it: never with its exact arguments. */
export interface CallRecord {
  readonly callId: string;
  readonly stepSeq: number;
  readonly ordinal: number;
  readonly tool: string;
  readonly argumentsPreview: string;
  readonly argumentsHash: string;
  readonly state: ToolCallState;
  readonly policyEffect: string;
  readonly policyRule: string;
  readonly approvalId: string | undefined;
  readonly summary: string;
  readonly errorCode: string;
  readonly retryable: boolean;
  readonly artifacts: readonly string[];
  readonly durationMs: number;
  readonly resultCharacters: number;
  readonly shownCharacters: number;
  readonly spillPointer: string;
  readonly proposedAt: Date;
  readonly dispatchedAt: Date | undefined;
  readonly endedAt: Date | undefined;
}
