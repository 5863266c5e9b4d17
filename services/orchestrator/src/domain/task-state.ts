/** Every state of a task, in the order of a task's life. */
export const taskStates = [
  "CREATED",
  "PLANNING",
  "RUNNING",
  "WAITING_APPROVAL",
  "VERIFYING",
  "SUCCEEDED",
  "FAILED",
  "CANCELLED",
] as const;

/** Where a task is in its life. */
export type TaskState = (typeof taskStates)[number];

/** The states that a task does not leave by itself. */
export type TerminalState = "SUCCEEDED" | "FAILED" | "CANCELLED";

/**
 * The whole life of a task: from each state, the states that may follow. The database enforces the same
 * table (`transition_allowed` in the migrations); a test holds the two together.
 */
export const taskTransitions: Readonly<Record<TaskState, readonly TaskState[]>> = Object.freeze({
  CREATED: Object.freeze(["PLANNING", "RUNNING", "FAILED", "CANCELLED"] as const),
  PLANNING: Object.freeze(["RUNNING", "WAITING_APPROVAL", "FAILED", "CANCELLED"] as const),
  RUNNING: Object.freeze(["WAITING_APPROVAL", "VERIFYING", "FAILED", "CANCELLED"] as const),
  WAITING_APPROVAL: Object.freeze(["RUNNING", "FAILED", "CANCELLED"] as const),
  VERIFYING: Object.freeze(["RUNNING", "SUCCEEDED", "FAILED", "CANCELLED"] as const),
  SUCCEEDED: Object.freeze([]),
  // Only when somebody resumes the task.
  FAILED: Object.freeze(["RUNNING"] as const),
  CANCELLED: Object.freeze(["RUNNING"] as const),
});

/** True when a task in `from` may enter `to`; staying is not a transition. */
export function canTransition(from: TaskState, to: TaskState): boolean {
  return taskTransitions[from].includes(to);
}

/** True for a state that a task does not leave by itself. */
export function isTerminal(state: TaskState): state is TerminalState {
  return state === "SUCCEEDED" || state === "FAILED" || state === "CANCELLED";
}
