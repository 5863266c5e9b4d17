import type { Clock } from "@drover/kernel";
import type { LiveRuns } from "./live-runs.ts";
import type { ExecBackend, FoundContainer, Ledger, Log } from "./ports.ts";

const expireEveryMs = 600_000;
/** A hanging engine must not keep an instance from renewing its leases. */
const engineTimeoutMs = 5000;

/**
 * Finds what nobody looks after any more, from labels and records alone: containers past their
 * expiry, containers whose run is over, executions whose instance is dead. Runs of living instances
 * and containers of other installations on the same host are left alone until they expire.
 */
export class Reaper {
  readonly #engine: ExecBackend;
  readonly #ledger: Ledger;
  readonly #live: LiveRuns;
  readonly #clock: Clock;
  readonly #log: Log;
  #expireNext = 0;

  constructor(engine: ExecBackend, ledger: Ledger, live: LiveRuns, clock: Clock, log: Log) {
    this.#engine = engine;
    this.#ledger = ledger;
    this.#live = live;
    this.#clock = clock;
    this.#log = log;
  }

  /** One round. A part that fails is logged and left to the next round. */
  async round(signal?: AbortSignal): Promise<void> {
    const bound = AbortSignal.timeout(engineTimeoutMs);
    const both = signal === undefined ? bound : AbortSignal.any([signal, bound]);
    await this.#attempt("renew", () => this.#ledger.renew());
    await this.#attempt("lose orphans", async () => {
      const lost = await this.#ledger.loseOrphans();
      if (lost > 0) this.#log.warn({ executions: lost }, "executions of a dead instance ended as lost");
    });
    await this.#attempt("remove containers", () => this.#removeStrays(both).catch(unless(signal)));
    if (this.#clock.monotonicMs() < this.#expireNext) return;
    this.#expireNext = this.#clock.monotonicMs() + expireEveryMs;
    await this.#attempt("expire", () => this.#ledger.expire());
  }

  /** Rounds until the signal aborts. */
  async run(intervalMs: number, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.round(signal);
      await this.#clock.sleep(intervalMs, signal).catch(() => undefined);
    }
  }

  async #removeStrays(signal: AbortSignal): Promise<void> {
    const found = (await this.#engine.found(signal)).filter(({ runId }) => !this.#live.has(runId));
    if (found.length === 0) return;
    const over = await this.#ledger.over(found);
    const now = this.#clock.now();
    for (const container of found) {
      if (isStray(container, over, now)) await this.#remove(container);
    }
  }

  async #remove(container: FoundContainer): Promise<void> {
    await this.#attempt("remove container", async () => {
      await this.#engine.remove(container.id);
      this.#log.warn({ container: container.id, run: container.runId }, "a stray container was removed");
    });
  }

  async #attempt(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#log.warn({ err: error, step: what }, "a step of the reaper failed");
    }
  }
}

function isStray(container: FoundContainer, over: ReadonlySet<string>, now: Date): boolean {
  return container.expiresAt <= now || over.has(container.id);
}

/** At the service's end an interrupted step is no failure. */
function unless(signal: AbortSignal | undefined): (error: unknown) => void {
  return (error) => {
    if (signal?.aborted !== true) throw error;
  };
}
