import { DroverError } from "@drover/kernel";
import { workingMs } from "../domain/budget.ts";

/** Why a run has to stop before the task has ended. */
export type StopReason = "TASK_CANCELLED" | "LEASE_LOST" | "DRAINING" | "BUDGET_EXHAUSTED";

/**
 * What can stop the run of a task. Cancelling aborts the work at hand and the task is then ended
 * properly; losing the lease aborts it and nothing more may be written; draining lets the step at
 * hand finish, and only a hard drain aborts it. Time that is used up aborts it too, once to answer and once for good.
 */
export class RunControl {
  #work = new AbortController();
  #stop: StopReason | undefined;
  #draining = false;
  /** Wall time of the task, ms; 0 is no limit. */
  #wallMs = 0;
  #spentMs = 0;
  #answering = false;

  /** Aborts when the work at hand must stop; another one after {@link answerNow}. */
  get signal(): AbortSignal {
    return this.#work.signal;
  }

  /** Why the signal has aborted. */
  get stopped(): StopReason | undefined {
    return this.#stop;
  }

  /** The run should give the task back at the next step boundary. */
  get draining(): boolean {
    return this.#draining;
  }

  cancel(): void {
    this.#abort("TASK_CANCELLED", "The task was cancelled.");
  }

  /** The task's budget of wall time, ms; 0 is no limit. */
  limitWall(wallMs: number): void {
    this.#wallMs = wallMs;
  }

  /** Tells how long workers have held the task in all; over the limit the work at hand stops. */
  spend(ms: number): void {
    this.#spentMs = Math.max(this.#spentMs, ms);
    const most = this.#answering ? this.#wallMs : workingMs(this.#wallMs);
    if (most > 0 && this.#spentMs >= most) this.#abort("BUDGET_EXHAUSTED", "The time for the task is used up.");
  }

  /** After BUDGET_EXHAUSTED: what is left of the time is for an answer. Returns the time that was spent, ms. */
  answerNow(): number {
    this.#answering = true;
    this.#stop = undefined;
    this.#work = new AbortController();
    return this.#spentMs;
  }

  /** A lost lease overrules a cancel: the next owner ends the task. */
  loseLease(): void {
    if (this.#stop === "TASK_CANCELLED") this.#stop = "LEASE_LOST";
    this.#abort("LEASE_LOST", "Another worker may hold the task.");
  }

  drain(): void {
    this.#draining = true;
  }

  drainNow(): void {
    this.#draining = true;
    this.#abort("DRAINING", "The worker shuts down.");
  }

  #abort(reason: StopReason, message: string): void {
    if (this.#stop === "BUDGET_EXHAUSTED") this.#stop = reason;
    if (this.#stop !== undefined) return;
    this.#stop = reason;
    this.#work.abort(new DroverError("CANCELLED", message, { reason }));
  }
}
