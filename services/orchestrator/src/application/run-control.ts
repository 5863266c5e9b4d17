import { DroverError } from "@drover/kernel";

/** Why a run has to stop before the task has ended. */
export type StopReason = "TASK_CANCELLED" | "LEASE_LOST" | "DRAINING";

/**
 * What can stop the run of a task. Cancelling aborts the work at hand and the task is then ended
 * properly; losing the lease aborts it and nothing more may be written; draining lets the step at
 * hand finish, and only a hard drain aborts it.
 */
export class RunControl {
  readonly #work = new AbortController();
  #stop: StopReason | undefined;
  #draining = false;

  /** Aborts when the work at hand must stop. */
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
    if (this.#stop !== undefined) return;
    this.#stop = reason;
    this.#work.abort(new DroverError("CANCELLED", message, { reason }));
  }
}
