import type { Clock } from "@drover/kernel";
import { announce } from "./decide-approval.ts";
import type { ApprovalStore } from "./decision-ports.ts";
import type { TaskSignals } from "./ports.ts";

/** What the sweeper needs. */
export interface ExpiryParts {
  readonly approvals: Pick<ApprovalStore, "expire">;
  readonly signals: TaskSignals;
  readonly clock: Clock;
  /** Between two looks, ms. */
  readonly everyMs: number;
  readonly onFault: (fault: unknown, what: string) => void;
}

/** Denies what nobody decided in time and wakes the tasks that waited for it, again and again until disposed of. */
export function expireApprovals(parts: ExpiryParts): AsyncDisposable {
  const stop = new AbortController();
  const sweeping = sweep(parts, stop.signal);
  return {
    async [Symbol.asyncDispose]() {
      stop.abort();
      await sweeping;
    },
  };
}

async function sweep({ approvals, signals, clock, everyMs, onFault }: ExpiryParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      for (const settled of await approvals.expire()) announce(signals, settled);
    } catch (fault) {
      onFault(fault, "ending old approvals failed");
    }
    await clock.sleep(everyMs, signal).catch(() => undefined);
  }
}
