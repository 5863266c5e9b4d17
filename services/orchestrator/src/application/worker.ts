import type { Clock } from "@drover/kernel";
import { keepLease, type Lease } from "./lease.ts";
import type { Claim, TaskStore } from "./ports.ts";
import { RunControl } from "./run-control.ts";

/** How a worker works. */
export interface WorkerOptions {
  /** Name of this replica in the rows it holds. A stable one gets its tasks back at once after a crash. */
  readonly name: string;
  /** Tasks worked on at the same time. */
  readonly slots: number;
  readonly leaseTtlMs: number;
  /** Tasks of one tenant that run at the same time, over all replicas. */
  readonly perTenant: number;
  /** Claims in a row without a commit after which a task is a dead letter. */
  readonly maxIdle: number;
  /** Safety net for lost wake-ups. */
  readonly pollMs: number;
  /** How long a drain waits for the step at hand. */
  readonly graceMs: number;
}

/** What a worker needs. `run` works on one claimed task and returns when it has ended or must be given back. */
export interface WorkerParts {
  readonly store: Pick<TaskStore, "claim" | "reclaim" | "renew" | "release">;
  readonly clock: Clock;
  readonly run: (claim: Claim, control: RunControl) => Promise<"ended" | "give_back">;
  readonly onFault: (fault: unknown, what: string) => void;
}

/** Claims tasks and works on them; disposing drains it. */
export interface Worker extends AsyncDisposable {
  /** There may be something to claim. */
  wake(): void;
  /** A cancel was announced: where this worker holds the task, it looks at the row now. */
  look(tenant: string, taskId: string): void;
  readonly active: number;
}

interface Running {
  readonly control: RunControl;
  readonly lease: Lease;
  readonly done: Promise<void>;
}

/** Tasks given back for a reason other than a drain wait this long, so that a fault does not spin. */
const giveBackDelayMs = 1_000;

/** Starts a worker. Nothing it meets ends it: faults are told to `onFault`, and the next poll tries again. */
export function startWorker(parts: WorkerParts, options: WorkerOptions): Worker {
  const { store, clock } = parts;
  const running = new Map<string, Running>();
  const stopping = new AbortController();
  let wakeUp: () => void = () => undefined;
  let woken = false;

  const wake = () => {
    woken = true;
    wakeUp();
  };

  async function work(claim: Claim, control: RunControl, leaseOf: () => Lease): Promise<void> {
    try {
      const outcome = await parts.run(claim, control);
      await leaseOf()[Symbol.asyncDispose]();
      if (outcome === "give_back" && control.stopped !== "LEASE_LOST") {
        await store.release(claim, control.draining ? 0 : giveBackDelayMs);
      }
    } catch (fault) {
      parts.onFault(fault, "a run broke off");
    } finally {
      await leaseOf()[Symbol.asyncDispose]();
      running.delete(key(claim.tenant, claim.taskId));
      wake();
    }
  }

  function begin(claim: Claim): void {
    const control = new RunControl();
    const lease = keepLease({ store, clock, ttlMs: options.leaseTtlMs }, claim, control);
    running.set(key(claim.tenant, claim.taskId), { control, lease, done: work(claim, control, () => lease) });
  }

  async function claimFree(): Promise<boolean> {
    const free = options.slots - running.size;
    if (free <= 0) return false;
    const claims = await store.claim(options.name, {
      limit: free,
      ttlMs: options.leaseTtlMs,
      perTenant: options.perTenant,
      maxIdle: options.maxIdle,
    });
    for (const claim of claims) begin(claim);
    return claims.length === free;
  }

  async function idle(): Promise<void> {
    if (woken) return;
    const early = new Promise<void>((resolve) => {
      wakeUp = resolve;
    });
    const timer = new AbortController();
    const sleep = clock.sleep(options.pollMs, timer.signal).catch(() => undefined);
    await Promise.race([early, sleep]);
    timer.abort();
  }

  async function claimForever(): Promise<void> {
    await store.reclaim(options.name).catch((fault) => parts.onFault(fault, "reclaiming failed"));
    while (!stopping.signal.aborted) {
      woken = false;
      const full = await claimFree().catch((fault) => {
        parts.onFault(fault, "claiming failed");
        return false;
      });
      if (!full && !stopping.signal.aborted) await idle();
    }
  }

  const claiming = claimForever();
  return {
    wake,
    look: (tenant, taskId) => running.get(key(tenant, taskId))?.lease.look(),
    get active() {
      return running.size;
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      wake();
      await claiming;
      for (const { control } of running.values()) control.drain();
      const timer = new AbortController();
      const overdue = clock.sleep(options.graceMs, timer.signal).then(
        () => {
          for (const { control } of running.values()) control.drainNow();
        },
        () => undefined,
      );
      await Promise.all([...running.values()].map(({ done }) => done));
      timer.abort();
      await overdue;
    },
  };
}

function key(tenant: string, taskId: string): string {
  return `${tenant}/${taskId}`;
}
