import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { TaskState, ToolCallState } from "@drover/proto/event/v1/task_event";
import type { StepSchema, ToolCallSchema, TransitionSchema } from "@drover/proto/orchestrator/v1/task";
import type { CallRecord, StepRecord, TransitionRecord } from "../domain/task-records.ts";
import { usageMessage } from "./to-proto.ts";

/** A transition as the rpcs show it. */
export function transitionMessage(record: TransitionRecord): MessageInitShape<typeof TransitionSchema> {
  const { version, from, to, actor, reason, inputEvent, outputEvent, at } = record;
  return {
    version: BigInt(version),
    from: TaskState[from],
    to: TaskState[to],
    ...{ actor, reason, inputEvent },
    outputEvent: BigInt(outputEvent),
    at: timestampFromDate(at),
  };
}

/** A step as the rpcs show it. */
export function stepMessage({ seq, usage, at, ...step }: StepRecord): MessageInitShape<typeof StepSchema> {
  return {
    ...step,
    seq: BigInt(seq),
    ...(usage === undefined ? {} : { usage: usageMessage(usage) }),
    at: timestampFromDate(at),
  };
}

/** A call as the rpcs show it. */
export function callMessage(call: CallRecord): MessageInitShape<typeof ToolCallSchema> {
  const { callId, ordinal, tool, argumentsPreview, argumentsHash, policyEffect, policyRule } = call;
  const { summary, errorCode, retryable, spillPointer, dispatchedAt, endedAt } = call;
  return {
    ...{ callId, ordinal, tool, argumentsPreview, argumentsHash, policyEffect, policyRule },
    ...{ summary, errorCode, retryable, spillPointer },
    stepSeq: BigInt(call.stepSeq),
    state: ToolCallState[call.state],
    approvalId: call.approvalId ?? "",
    artifacts: [...call.artifacts],
    durationMs: BigInt(call.durationMs),
    resultCharacters: BigInt(call.resultCharacters),
    shownCharacters: BigInt(call.shownCharacters),
    proposedAt: timestampFromDate(call.proposedAt),
    ...(dispatchedAt === undefined ? {} : { dispatchedAt: timestampFromDate(dispatchedAt) }),
    ...(endedAt === undefined ? {} : { endedAt: timestampFromDate(endedAt) }),
  };
}
