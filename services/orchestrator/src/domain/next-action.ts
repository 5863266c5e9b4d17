import { type BudgetKind, exhausted, exhaustedReason, exhaustedText, type Spender } from "./budget.ts";
import { asksForCalls, callsOf, type Step, type TaskLog, type ToolCallRecord } from "./step.ts";
import type { Task } from "./task.ts";
import { isTerminal } from "./task-state.ts";

/** What a worker has to do next for a task. */
export type NextAction =
  | { readonly kind: "start" }
  /** Ask the model. `limit`: that is used up, so it must answer, without tools. */
  | { readonly kind: "ask"; readonly round: number; readonly limit: BudgetKind | undefined }
  /** Run the calls of a turn and record their results. */
  | { readonly kind: "run_calls"; readonly turn: number; readonly calls: readonly ToolCallRecord[] }
  /** Give the open calls of the last turn a result without running them any more: the time to work is over. */
  | { readonly kind: "settle_calls" }
  | { readonly kind: "verify"; readonly turn: Step }
  /** The answer is verified: end with it. */
  | { readonly kind: "succeed" }
  | { readonly kind: "cancel" }
  | { readonly kind: "fail"; readonly reason: string; readonly message: string }
  | { readonly kind: "nothing" };

type ActiveTask = Pick<Task, "state" | "cancelRequested"> & Spender;

/**
 * Computes the next action from what is recorded, and from nothing else. A worker that has just
 * claimed a task after a crash therefore goes on exactly where a healthy one would have.
 */
export function nextAction(task: ActiveTask, log: TaskLog): NextAction {
  if (isTerminal(task.state)) return { kind: "nothing" };
  if (task.cancelRequested) return { kind: "cancel" };
  if (task.state === "WAITING_APPROVAL") return { kind: "nothing" };
  if (task.state === "CREATED" || task.state === "PLANNING") return { kind: "start" };
  const turn = log.steps.findLast((step) => step.body.kind === "turn");
  if (task.state === "VERIFYING") {
    if (turn === undefined) return broken("There is no answer to verify.");
    return log.steps.at(-1)?.body.kind === "verification" ? { kind: "succeed" } : { kind: "verify", turn };
  }
  const newest = log.steps.at(-1);
  if (newest === undefined) return broken("The step log is empty.");
  const limit = exhausted(task);
  if (asksForCalls(newest)) {
    if (limit === "WALL_TIME") return { kind: "settle_calls" };
    return { kind: "run_calls", turn: newest.seq, calls: callsOf(log, newest.seq) };
  }
  if (limit === "WALL_TIME" && task.wallMsUsed >= task.budgets.wallMs) return outOfTime(task);
  return { kind: "ask", round: limit === undefined ? task.round + 1 : Math.max(1, task.round), limit };
}

/** True when the two newest turns gave nothing to work with: a third try would not help. */
export function isStuck(log: TaskLog): boolean {
  const turns = log.steps.flatMap((step) => (step.body.kind === "turn" ? [step.body.decision] : []));
  return turns.length >= 2 && turns.slice(-2).every((decision) => decision === "empty" || decision === "length");
}

function outOfTime(task: Spender): NextAction {
  const message = `The task has reached ${exhaustedText(task, "WALL_TIME")} without a final answer.`;
  return { kind: "fail", reason: exhaustedReason("WALL_TIME"), message };
}

function broken(message: string): NextAction {
  return { kind: "fail", reason: "INTERNAL", message };
}
