import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { UsageSchema } from "@drover/proto/common/v1/usage";
import { TokenDelta_Channel } from "@drover/proto/event/v1/bus";
import { type TaskEventSchema, TaskState, ToolCallState } from "@drover/proto/event/v1/task_event";
import { Mode, type TaskSchema } from "@drover/proto/orchestrator/v1/task";
import type { WatchTaskResponseSchema } from "@drover/proto/orchestrator/v1/task_service";
import type { WatchMessage } from "../application/watch-task.ts";
import type { Task, TaskUsage } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task-event.ts";

/** A task as the rpcs show it. */
export function taskMessage(task: Task): MessageInitShape<typeof TaskSchema> {
  return {
    id: task.id,
    state: TaskState[task.state],
    mode: Mode[task.mode],
    prompt: task.prompt,
    conversationId: task.conversationId,
    workspaceId: task.workspaceId ?? "",
    traceId: task.traceId,
    round: task.round,
    maxRounds: task.maxRounds,
    version: BigInt(task.version),
    lastSequence: BigInt(task.lastSequence),
    answer: task.answer,
    failureReason: task.failureReason,
    failureMessage: task.failureMessage,
    cancelRequested: task.cancelRequested,
    attempt: task.attempt,
    usage: usageMessage(task.usage),
    ...(task.memoryUsage === undefined ? {} : { memoryUsage: usageMessage(task.memoryUsage) }),
    model: task.model,
    createdBy: task.createdBy,
    rerunOf: task.rerunOf ?? "",
    agent: task.agent,
    priority: task.priority,
    budgets: {
      maxRounds: task.maxRounds,
      maxWallMs: BigInt(task.budgets.wallMs),
      maxTokens: BigInt(task.budgets.tokens),
      maxCostNanoUsd: BigInt(task.budgets.costNanoUsd),
      maxToolCalls: task.budgets.toolCalls,
      maxOutputTokens: task.budgets.outputTokens,
    },
    budgetUse: {
      rounds: task.round,
      wallMs: BigInt(task.wallMsUsed),
      tokens: BigInt(task.usage.inputTokens + task.usage.outputTokens),
      costNanoUsd: BigInt(task.usage.costNanoUsd ?? 0),
      toolCalls: task.toolCallsUsed,
    },
    resumes: task.resumes,
    ...(task.verification === undefined
      ? {}
      : { verification: { ...task.verification, findings: [...task.verification.findings] } }),
    createdAt: timestampFromDate(task.createdAt),
    ...(task.startedAt === undefined ? {} : { startedAt: timestampFromDate(task.startedAt) }),
    ...(task.endedAt === undefined ? {} : { endedAt: timestampFromDate(task.endedAt) }),
  };
}

/** One message of a watch. */
export function watchMessage(message: WatchMessage): MessageInitShape<typeof WatchTaskResponseSchema> {
  switch (message.kind) {
    case "event":
      return { message: { case: "event", value: eventMessage(message.event) } };
    case "heartbeat":
      return { message: { case: "heartbeat", value: { sequence: BigInt(message.sequence) } } };
    case "reset": {
      const { task, sequence } = message;
      return { message: { case: "reset", value: { task: taskMessage(task), sequence: BigInt(sequence) } } };
    }
    case "delta": {
      const { taskId, step, channel, offset, text } = message.delta;
      const value = {
        taskId,
        step: BigInt(step),
        channel: channel === "text" ? TokenDelta_Channel.TEXT : TokenDelta_Channel.REASONING,
        offset: BigInt(offset),
        text,
      };
      return { message: { case: "delta", value } };
    }
  }
}

function eventMessage(event: TaskEvent): MessageInitShape<typeof TaskEventSchema> {
  return {
    taskId: event.taskId,
    sequence: BigInt(event.sequence),
    time: timestampFromDate(event.time),
    round: event.round,
    event: bodyMessage(event.body),
  };
}

type EventCase = NonNullable<MessageInitShape<typeof TaskEventSchema>["event"]>;

function bodyMessage(body: TaskEvent["body"]): EventCase {
  switch (body.type) {
    case "status_changed": {
      const { from, to, actor, reason, version } = body;
      const value = { from: TaskState[from], to: TaskState[to], actor, reason, version: BigInt(version) };
      return { case: "statusChanged", value };
    }
    case "assistant_message": {
      const { step, text, model, usage } = body;
      return { case: "assistantMessage", value: { step: BigInt(step), text, model, usage: usageMessage(usage) } };
    }
    case "tool_call_requested": {
      const { callId, tool, argumentsPreview, ordinal } = body;
      return { case: "toolCallRequested", value: { callId, tool, argumentsPreview, ordinal } };
    }
    case "tool_call_completed": {
      const { callId, tool, summary, errorCode, spillPointer } = body;
      const value = {
        callId,
        tool,
        summary,
        errorCode,
        spillPointer,
        state: ToolCallState[body.state],
        durationMs: BigInt(body.durationMs),
        resultCharacters: BigInt(body.resultCharacters),
        shownCharacters: BigInt(body.shownCharacters),
      };
      return { case: "toolCallCompleted", value };
    }
    case "approval_required": {
      const { type: _, expiresAt, ...value } = body;
      return { case: "approvalRequired", value: { ...value, expiresAt: timestampFromDate(new Date(expiresAt)) } };
    }
    case "approval_decided": {
      const { type: _, ...value } = body;
      return { case: "approvalDecided", value };
    }
    case "verification_completed": {
      const { type: _, findings, ...value } = body;
      return { case: "verificationCompleted", value: { ...value, findings: [...findings] } };
    }
    case "notice":
      return { case: "notice", value: { code: body.code, text: body.text } };
    case "task_completed": {
      const { answer, failureReason, failureMessage, rounds } = body;
      const value = { state: TaskState[body.state], answer, failureReason, failureMessage, rounds };
      return { case: "taskCompleted", value: { ...value, usage: usageMessage(body.usage) } };
    }
  }
}

/** Tokens and cost as the rpcs show them. */
export function usageMessage(usage: TaskUsage) {
  return create(UsageSchema, {
    inputTokens: BigInt(usage.inputTokens),
    outputTokens: BigInt(usage.outputTokens),
    cachedInputTokens: BigInt(usage.cachedInputTokens),
    reasoningTokens: BigInt(usage.reasoningTokens),
    ...(usage.costNanoUsd === null ? {} : { costNanoUsd: BigInt(usage.costNanoUsd) }),
  });
}
