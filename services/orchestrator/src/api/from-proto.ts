import { invalidField } from "@drover/kernel";
import { TaskState as ProtoState } from "@drover/proto/event/v1/task_event";
import { type Budgets, Mode, ConversationPolicy as ProtoPolicy } from "@drover/proto/orchestrator/v1/task";
import type { AgentBudgets } from "../domain/agent.ts";
import type { ConversationPolicy } from "../domain/submission.ts";
import type { TaskMode } from "../domain/task.ts";
import { type TaskState, taskStates } from "../domain/task-state.ts";

const modes: ReadonlyMap<number, TaskMode> = new Map<number, TaskMode>([
  [Mode.UNSPECIFIED, "REACT"],
  [Mode.CHAT, "CHAT"],
  [Mode.RAG, "RAG"],
  [Mode.REACT, "REACT"],
  [Mode.PSE, "PSE"],
]);

/** The mode behind a number, or the number that names none; an unspecified one is the one that is offered. */
export function modeOf(value: number): TaskMode | number {
  return modes.get(value) ?? value;
}

const policies: ReadonlyMap<number, ConversationPolicy> = new Map<number, ConversationPolicy>([
  [ProtoPolicy.UNSPECIFIED, "QUEUE"],
  [ProtoPolicy.QUEUE, "QUEUE"],
  [ProtoPolicy.REJECT, "REJECT"],
  [ProtoPolicy.INTERRUPT, "INTERRUPT"],
]);

/** The policy behind a number, or the number that names none. */
export function conversationPolicyOf(value: number): ConversationPolicy | number {
  return policies.get(value) ?? value;
}

/** Budgets as they were asked for; absent ones are 0. */
export function budgetsFrom(budgets: Budgets | undefined): AgentBudgets {
  return {
    rounds: budgets?.maxRounds ?? 0,
    wallMs: Number(budgets?.maxWallMs ?? 0n),
    tokens: Number(budgets?.maxTokens ?? 0n),
    costNanoUsd: Number(budgets?.maxCostNanoUsd ?? 0n),
    toolCalls: budgets?.maxToolCalls ?? 0,
    outputTokens: budgets?.maxOutputTokens ?? 0,
  };
}

/** A state of a filter; INVALID_ARGUMENT for a number that names none. */
export function stateFrom(value: number, index: number): TaskState {
  const state = taskStates.find((name) => ProtoState[name] === value);
  if (state === undefined) throw invalidField(`states[${index}]`, String(value), `one of ${taskStates.join(", ")}`);
  return state;
}

/** A sequence that a caller goes on from; INVALID_ARGUMENT for one that no task can have. */
export function sequenceFrom(value: bigint): number {
  const sequence = Number(value);
  if (Number.isSafeInteger(sequence)) return sequence;
  throw invalidField("after_sequence", String(value), "0 or a sequence that was received");
}

/** The version that a caller expects, 0 for any; INVALID_ARGUMENT for one that no task can have. */
export function versionFrom(value: bigint): number {
  const version = Number(value);
  if (Number.isSafeInteger(version) && version >= 0) return version;
  throw invalidField("expected_version", String(value), "0 or a version that was read");
}
