import type { Clock } from "@drover/kernel";
import { callMadeAt } from "../domain/call-time.ts";
import type { LiveRun } from "./live-run.ts";

/** Cancels that are remembered here, for runs that are between their acceptance and their place here. */
const rememberedCancels = 1000;

/** The runs of this process that are not over. */
export class LiveRuns {
  readonly #byCall = new Map<string, LiveRun>();
  readonly #ends = new Set<Promise<void>>();
  readonly #cancels = new Map<string, number>();
  #draining = false;

  get(tenant: string, callId: string): LiveRun | undefined {
    return this.#byCall.get(key(tenant, callId));
  }

  /** Keeps the run until `end` has settled. */
  add(run: LiveRun, end: Promise<void>): void {
    const { tenant, callId } = run.execution;
    this.#byCall.set(key(tenant, callId), run);
    const cancelledAt = this.#cancels.get(key(tenant, run.execution.taskId));
    if (cancelledAt !== undefined && (callMadeAt(callId) ?? cancelledAt + 1) <= cancelledAt) run.cancel();
    const settled = end
      .catch(() => undefined)
      .finally(() => {
        this.#byCall.delete(key(tenant, callId));
        this.#ends.delete(settled);
      });
    this.#ends.add(settled);
  }

  byId(tenant: string, runId: string): LiveRun | undefined {
    return [...this.#byCall.values()].find(({ execution }) => execution.id === runId && execution.tenant === tenant);
  }

  /** Keeps a session, which ends with the service at the latest and is not waited for; gives its release. */
  hold(session: LiveRun): () => void {
    const name = key(session.execution.tenant, session.execution.callId);
    this.#byCall.set(name, session);
    return () => void this.#byCall.delete(name);
  }

  has(runId: string): boolean {
    return [...this.#byCall.values()].some((run) => run.execution.id === runId);
  }

  /** Cancels all runs of a task; gives their number. */
  cancelTask(tenant: string, taskId: string): number {
    this.#cancels.delete(key(tenant, taskId));
    this.#cancels.set(key(tenant, taskId), Date.now());
    for (const oldest of this.#cancels.keys()) {
      if (this.#cancels.size <= rememberedCancels) break;
      this.#cancels.delete(oldest);
    }
    const runs = [...this.#byCall.values()].filter(
      ({ execution }) => execution.tenant === tenant && execution.taskId === taskId,
    );
    for (const run of runs) run.cancel();
    return runs.length;
  }

  /** True from the begin of {@link drain} on: no run may be added any more. */
  get draining(): boolean {
    return this.#draining;
  }

  /** Gives running programs `graceMs` to end, ends the others as lost, and resolves when all containers are gone. */
  async drain(graceMs: number, clock: Clock): Promise<void> {
    this.#draining = true;
    const over = new AbortController();
    const ended = Promise.allSettled(this.#ends).then(() => over.abort());
    await clock.sleep(graceMs, over.signal).catch(() => undefined);
    for (const run of this.#byCall.values()) run.cancel("daemon");
    await ended;
    await Promise.allSettled(this.#ends);
  }
}

function key(tenant: string, callId: string): string {
  return `${tenant}/${callId}`;
}
