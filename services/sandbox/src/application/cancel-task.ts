import type { LiveRuns } from "./live-runs.ts";
import type { ExecutionStore, Log } from "./ports.ts";

/**
 * Ends every run of a task in this process, and remembers the cancel, so that a call that was made
 * before it and comes after it never starts.
 */
export class CancelTask {
  readonly #live: LiveRuns;
  readonly #executions: ExecutionStore;
  readonly #log: Log;

  constructor(live: LiveRuns, executions: ExecutionStore, log: Log) {
    this.#live = live;
    this.#executions = executions;
    this.#log = log;
  }

  async cancel(tenant: string, taskId: string): Promise<void> {
    const cancelled = this.#live.cancelTask(tenant, taskId);
    if (cancelled > 0) this.#log.info({ tenant, task_id: taskId, runs: cancelled }, "runs of a cancelled task end");
    await this.#executions.rememberCancel(tenant, taskId);
  }
}
