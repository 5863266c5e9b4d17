import { DroverError } from "@drover/kernel";
import { advancePurge, type PurgeParts } from "./advance-purge.ts";

/** How removals are worked on. */
export interface PurgeRunnerParts extends PurgeParts {
  /** Name of this replica in the rows it holds. */
  readonly replica: string;
  /** Between two looks for removals, ms. */
  readonly pollMs: number;
  /** Days that a receipt is kept. */
  readonly receiptDays: number;
  readonly onFault: (fault: unknown, what: string) => void;
}

/** Works on removals, one at a time; disposing gives up the one at hand, and another replica goes on with it. */
export interface PurgeRunner extends AsyncDisposable {
  /** There is a new one. */
  wake(): void;
}

/** Between two looks for receipts that are too old, ms. */
const forgetMs = 3_600_000;

/** Starts working on removals. Nothing it meets ends it: faults are told to `onFault`, and the next look tries again. */
export function startPurgeRunner(parts: PurgeRunnerParts): PurgeRunner {
  const stopping = new AbortController();
  const { signal } = stopping;
  let woken = Promise.withResolvers<void>();
  const working = work();

  async function work(): Promise<void> {
    let forgotAt = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      try {
        while (!signal.aborted && (await workOnNext(parts, signal)));
        if (parts.clock.monotonicMs() - forgotAt >= forgetMs) {
          await parts.purges.forget(parts.receiptDays);
          forgotAt = parts.clock.monotonicMs();
        }
      } catch (fault) {
        if (!signal.aborted) parts.onFault(fault, "a removal broke off");
      }
      await Promise.race([woken.promise, parts.clock.sleep(parts.pollMs, signal).catch(() => undefined)]);
      woken = Promise.withResolvers();
    }
  }

  return {
    wake: () => woken.resolve(),
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await working;
    },
  };
}

/** False where there is none to work on. */
async function workOnNext(parts: PurgeRunnerParts, signal: AbortSignal): Promise<boolean> {
  const claim = await parts.purges.claim(parts.replica);
  if (claim === undefined) return false;
  try {
    await advancePurge(parts, claim, signal);
  } catch (error) {
    if (DroverError.from(error).reason === "LEASE_LOST") return true;
    if (signal.aborted) await parts.purges.release(claim, 0);
    throw error;
  }
  return true;
}
