import { storableText } from "@drover/kernel";
import type { TaskChange } from "../application/ports.ts";
import type { Step, StepBody, ToolCallRecord } from "../domain/step.ts";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task-event.ts";
import type { EventRow, StepRow, TaskRow, ToolCallRow } from "./schema.ts";

/** A task from its row. */
export function taskOf(row: TaskRow): Task {
  return {
    tenant: row.tenant_id,
    id: row.id,
    state: row.state,
    mode: row.mode,
    prompt: row.prompt,
    model: row.model,
    collection: row.collection,
    conversationId: row.conversation_id,
    workspaceId: row.workspace_id ?? undefined,
    workspaceGiven: row.workspace_given,
    traceId: row.trace_id,
    createdBy: row.created_by,
    round: row.round,
    maxRounds: row.max_rounds,
    version: row.version,
    lastSequence: row.last_sequence,
    answer: row.answer,
    failureReason: row.failure_reason,
    failureMessage: row.failure_message,
    cancelRequested: row.cancel_requested_at !== null,
    cancelActor: row.cancel_actor,
    cancelReason: row.cancel_reason,
    attempt: row.attempt,
    usage: {
      inputTokens: row.input_tokens,
      outputTokens: row.output_tokens,
      cachedInputTokens: row.cached_input_tokens,
      reasoningTokens: row.reasoning_tokens,
      costNanoUsd: row.cost_nano_usd,
    },
    memoryUsage: row.memory_usage ?? undefined,
    agent: row.agent,
    agentBody: row.agent_body,
    priority: row.priority,
    rerunOf: row.rerun_of ?? undefined,
    resumes: row.resumes,
    budgets: {
      wallMs: row.max_wall_ms,
      tokens: row.max_tokens,
      costNanoUsd: row.max_cost_nano_usd,
      toolCalls: row.max_tool_calls,
      outputTokens: row.max_output_tokens,
    },
    wallMsUsed: row.wall_ms_used,
    toolCallsUsed: row.tool_calls_used,
    reworks: row.reworks,
    verification: row.verification ?? undefined,
    firstSequence: row.first_sequence,
    createdAt: row.created_at,
    startedAt: row.started_at ?? undefined,
    endedAt: row.ended_at ?? undefined,
  };
}

/** A step from its row. */
export function stepOf(row: StepRow): Step {
  return { seq: row.seq, round: row.round, body: { kind: row.kind, ...row.body } as StepBody };
}

/** A tool call from its row. */
export function callOf(row: ToolCallRow): ToolCallRecord {
  return {
    callId: row.call_id,
    stepSeq: row.step_seq,
    ordinal: row.ordinal,
    providerCallId: row.provider_call_id,
    tool: row.tool,
    arguments: row.arguments,
    argumentsHash: row.arguments_hash,
    policyEffect: row.policy_effect,
    policyRule: row.policy_rule,
    allowedCommands: row.allowed_commands,
    state: row.state,
    ...(row.approval_id === null ? {} : { approvalId: row.approval_id }),
    shown: row.shown,
    spillPointer: row.spill_pointer,
    resultCharacters: row.result_characters,
  };
}

/** An event from its row. */
export function eventOf(row: EventRow): TaskEvent {
  return { taskId: row.task_id, sequence: row.sequence, round: row.round, time: row.at, body: row.body };
}

/** A change in the form that `commit_task` reads; every text is made storable. */
export function changeJson(change: TaskChange): string {
  const { state, steps, ...rest } = change;
  return storableJson({
    ...rest,
    ...(state === undefined ? {} : state),
    ...(steps === undefined
      ? {}
      : { steps: steps.map(({ seq, round, body: { kind, ...body } }) => ({ seq, round, kind, body })) }),
  });
}

/** JSON that Postgres can hold: see {@link storableText}. */
export function storableJson(value: object): string {
  return JSON.stringify(value, (_key, part: unknown) => (typeof part === "string" ? storableText(part) : part));
}
