import { DroverError, type FieldViolation, invalidFields, isId } from "@drover/kernel";
import { type AgentBudgets, budgetFaults } from "./agent.ts";
import type { TaskMode } from "./task.ts";

/** Bounds of a submission. */
const submissionLimits = Object.freeze({
  promptCharacters: 100_000,
  maxRounds: 50,
  requestIdCharacters: 64,
  cancelReasonCharacters: 500,
  nameCharacters: 128,
});

/** What a caller asks for, as it came. */
export interface Submission {
  readonly requestId: string;
  readonly prompt: string;
  /** The mode's name, or the number that names none. */
  readonly mode: TaskMode | number;
  /** Empty starts a new conversation. */
  readonly conversationId: string;
  /** Empty makes a workspace when it is first needed. */
  readonly workspaceId: string;
  /** 0 means the service's default. */
  readonly maxRounds: number;
  /** Empty means the service's default. */
  readonly model: string;
  /** Empty means "default". */
  readonly collection: string;
  /** Empty means the service's own. */
  readonly agent: string;
  /** -10 to 10. */
  readonly priority: number;
  readonly budgets: AgentBudgets;
  /** The policy's name, or the number that names none. */
  readonly conversationPolicy: ConversationPolicy | number;
}

/** What happens to a task whose conversation has another one that has not ended. */
export type ConversationPolicy = "QUEUE" | "REJECT" | "INTERRUPT";

const agentName = /^[A-Za-z0-9._-]{1,64}$/;
const name = /^[\p{L}\p{N}][\p{L}\p{N} ._:/@+-]*$/u;

/** A submission in which everything holds. */
export type CheckedSubmission = Submission & {
  readonly mode: TaskMode;
  readonly conversationPolicy: ConversationPolicy;
};

/** Throws INVALID_ARGUMENT that lists every fault of a submission at once. */
export function checkSubmission(submission: Submission): asserts submission is CheckedSubmission {
  const faults: FieldViolation[] = [
    ...promptFaults(submission.prompt),
    ...modeFaults(submission.mode),
    ...roundsFaults(submission.maxRounds),
    ...requestIdFaults(submission.requestId),
    ...idFaults("conversation_id", submission.conversationId),
    ...idFaults("workspace_id", submission.workspaceId),
    ...nameFaults("model", submission.model),
    ...nameFaults("collection", submission.collection),
    ...agentFaults(submission.agent),
    ...priorityFaults(submission.priority),
    ...budgetFaults("budgets", submission.budgets),
    ...policyFaults(submission.conversationPolicy),
  ];
  if (faults.length > 0) throw invalidFields(faults);
}

/** NOT_FOUND needs an id that could exist: anything else is INVALID_ARGUMENT. */
export function checkTaskId(id: string): void {
  const faults = id === "" ? [violation("task_id", "nothing", "the id of a task")] : idFaults("task_id", id);
  if (faults.length > 0) throw invalidFields(faults);
}

/** Throws INVALID_ARGUMENT for a reason over its limit. */
export function checkCancelReason(reason: string): void {
  const most = submissionLimits.cancelReasonCharacters;
  if (reason.length <= most) return;
  throw invalidFields([violation("reason", `${reason.length} characters`, `at most ${most} characters`)]);
}

/** ALREADY_EXISTS for a request id that was used with another body. */
export function requestIdTaken(requestId: string): DroverError {
  return new DroverError("ALREADY_EXISTS", `request_id ${JSON.stringify(requestId)} was used with another request.`, {
    reason: "REQUEST_ID_TAKEN",
  });
}

/** ABORTED for a task that has another version than the caller expects. */
export function staleVersion(expected: number): DroverError {
  return new DroverError("ABORTED", `The task does not have version ${expected} any more; read it again.`, {
    reason: "VERSION_MISMATCH",
  });
}

function promptFaults(prompt: string): FieldViolation[] {
  const most = submissionLimits.promptCharacters;
  if (prompt.trim() !== "" && prompt.length <= most) return [];
  const found = prompt.trim() === "" ? "no text" : `${prompt.length} characters`;
  return [violation("prompt", found, `1 to ${most} characters`)];
}

function modeFaults(mode: TaskMode | number): FieldViolation[] {
  if (mode === "REACT") return [];
  const found = typeof mode === "number" ? `${mode}, which names no mode` : `MODE_${mode}, which is not offered yet`;
  return [violation("mode", found, "MODE_REACT (or MODE_UNSPECIFIED, which means the same)")];
}

function roundsFaults(rounds: number): FieldViolation[] {
  if (rounds >= 0 && rounds <= submissionLimits.maxRounds) return [];
  return [violation("max_rounds", String(rounds), `1 to ${submissionLimits.maxRounds}, or 0 for the default`)];
}

/** Every fault of a request id; empty protects from nothing and is no fault. */
export function requestIdFaults(id: string): FieldViolation[] {
  const most = submissionLimits.requestIdCharacters;
  return id.length <= most ? [] : [violation("request_id", `${id.length} characters`, `at most ${most} characters`)];
}

function agentFaults(agent: string): FieldViolation[] {
  if (agent === "" || agentName.test(agent)) return [];
  return [violation("agent", JSON.stringify(agent.slice(0, 64)), "1 to 64 letters, digits, ., _ and -")];
}

function priorityFaults(priority: number): FieldViolation[] {
  if (priority >= -10 && priority <= 10) return [];
  return [violation("priority", String(priority), "-10 to 10")];
}

function policyFaults(policy: ConversationPolicy | number): FieldViolation[] {
  if (typeof policy === "string") return [];
  const allowed = "CONVERSATION_POLICY_QUEUE, _REJECT or _INTERRUPT";
  return [violation("conversation_policy", `${policy}, which names no policy`, allowed)];
}

function idFaults(field: string, id: string): FieldViolation[] {
  if (id === "" || isId(id)) return [];
  return [violation(field, JSON.stringify(id.slice(0, 64)), "a lower-case UUID")];
}

function nameFaults(field: string, text: string): FieldViolation[] {
  const most = submissionLimits.nameCharacters;
  if (text === "" || (text.length <= most && name.test(text))) return [];
  return [violation(field, JSON.stringify(text.slice(0, 64)), `a name of at most ${most} letters, digits and ._:/@+-`)];
}

function violation(field: string, found: string, allowed: string): FieldViolation {
  return { field, found, allowed };
}
