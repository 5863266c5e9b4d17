import { callsOf, type Step, type TaskLog, type ToolCallRecord } from "./step.ts";
import type { Task } from "./task.ts";
import { isTerminal } from "./task-state.ts";

/** What a worker has to do next for a task. */
export type NextAction =
  | { readonly kind: "start" }
  /** Ask the model. `last`: the rounds are used up, so it must answer, without tools. */
  | { readonly kind: "ask"; readonly round: number; readonly last: boolean }
  /** Run the calls of a turn and record their results. */
  | { readonly kind: "run_calls"; readonly turn: number; readonly calls: readonly ToolCallRecord[] }
  | { readonly kind: "verify"; readonly turn: Step }
  | { readonly kind: "cancel" }
  | { readonly kind: "fail"; readonly reason: string; readonly message: string }
  | { readonly kind: "nothing" };

type ActiveTask = Pick<Task, "state" | "round" | "maxRounds" | "cancelRequested">;

/**
 * Computes the next action from what is recorded, and from nothing else. A worker that has just
 * claimed a task after a crash therefore goes on exactly where a healthy one would have.
 */
export function nextAction(task: ActiveTask, log: TaskLog): NextAction {
  if (isTerminal(task.state) || task.state === "WAITING_APPROVAL") return { kind: "nothing" };
  if (task.cancelRequested) return { kind: "cancel" };
  if (task.state === "CREATED" || task.state === "PLANNING") return { kind: "start" };
  const turn = log.steps.findLast((step) => step.body.kind === "turn");
  if (task.state === "VERIFYING") {
    return turn === undefined ? broken("There is no answer to verify.") : { kind: "verify", turn };
  }
  const newest = log.steps.at(-1);
  if (newest === undefined) return broken("The step log is empty.");
  if (newest.body.kind === "turn" && newest.body.decision === "tool_calls") {
    return { kind: "run_calls", turn: newest.seq, calls: callsOf(log, newest.seq) };
  }
  const last = task.round >= task.maxRounds;
  return { kind: "ask", round: last ? task.round : task.round + 1, last };
}

/** True when the two newest turns gave nothing to work with: a third try would not help. */
export function isStuck(log: TaskLog): boolean {
  const turns = log.steps.flatMap((step) => (step.body.kind === "turn" ? [step.body.decision] : []));
  return turns.length >= 2 && turns.slice(-2).every((decision) => decision === "empty" || decision === "length");
}

function broken(message: string): NextAction {
  return { kind: "fail", reason: "INTERNAL", message };
}
