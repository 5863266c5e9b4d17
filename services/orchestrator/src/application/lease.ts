import { type Clock, withTimeout } from "@drover/kernel";
import type { Claim, TaskStore } from "./ports.ts";
import type { RunControl } from "./run-control.ts";

/** Keeps the lease of one claimed task until it is disposed of. */
export interface Lease extends AsyncDisposable {
  /** Looks at the row now, e.g. because a cancel was announced. */
  look(): void;
}

/**
 * Renews at a third of the time to live. A renewal that fails, finds nothing or takes longer than a
 * third means that the authority is lost: the run is aborted and must not write any more. A cancel
 * that a renewal finds is passed on, and so is the time that the task has used.
 */
export function keepLease(
  parts: { readonly store: Pick<TaskStore, "renew">; readonly clock: Clock; readonly ttlMs: number },
  claim: Claim,
  control: RunControl,
): Lease {
  const everyMs = parts.ttlMs / 3;
  const stopping = new AbortController();
  let wake: () => void = () => undefined;
  let lookAgain = false;

  async function renew(): Promise<boolean> {
    try {
      const held = await withTimeout("A lease renewal", everyMs, undefined, (signal) =>
        Promise.race([parts.store.renew(claim, parts.ttlMs), rejectedBy(signal)]),
      );
      if (held !== undefined) control.spend(held.wallMsUsed);
      if (held?.cancelRequested) control.cancel();
      return held !== undefined;
    } catch {
      return false;
    }
  }

  async function keep(): Promise<void> {
    while (!stopping.signal.aborted) {
      const early = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (!lookAgain) await Promise.race([early, parts.clock.sleep(everyMs, stopping.signal).catch(() => undefined)]);
      lookAgain = false;
      if (stopping.signal.aborted) return;
      if (!(await renew())) {
        if (!stopping.signal.aborted) control.loseLease();
        return;
      }
    }
  }

  const kept = keep();
  return {
    look() {
      lookAgain = true;
      wake();
    },
    async [Symbol.asyncDispose]() {
      stopping.abort();
      wake();
      await kept;
    },
  };
}

function rejectedBy(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}
