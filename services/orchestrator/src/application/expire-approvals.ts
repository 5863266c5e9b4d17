import type { Clock } from "@drover/kernel";
import type { Tracer } from "@drover/tracing";
import { announce, tellDecision } from "./decide-approval.ts";
import type { ApprovalStore, Settled } from "./decision-ports.ts";
import type { TaskSignals } from "./ports.ts";

/** A turn has no more calls that could wait. */
const mostCalls = 128;

/** What the sweeper needs. */
export interface ExpiryParts {
  readonly approvals: Pick<ApprovalStore, "expire" | "list">;
  readonly signals: TaskSignals;
  readonly tracer: Tracer;
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

async function sweep(parts: ExpiryParts, signal: AbortSignal): Promise<void> {
  const { approvals, signals, clock, everyMs, onFault } = parts;
  while (!signal.aborted) {
    try {
      for (const settled of await approvals.expire()) {
        announce(signals, settled);
        await tellExpired(parts, settled);
      }
    } catch (fault) {
      onFault(fault, "ending old approvals failed");
    }
    await clock.sleep(everyMs, signal).catch(() => undefined);
  }
}

/** Those of a task that were ended just now: they have one moment in common, because they were ended together. */
async function tellExpired({ approvals, tracer }: ExpiryParts, { tenant, taskId }: Settled): Promise<void> {
  const query = { states: ["EXPIRED"], taskId, tool: "", minAgeMs: 0 } as const;
  const expired = await approvals.list(tenant, query, mostCalls, undefined);
  const newest = Math.max(...expired.map(({ decidedAt }) => decidedAt?.getTime() ?? 0));
  for (const approval of expired) {
    if (approval.decidedAt?.getTime() === newest) tellDecision(tracer, tenant, approval);
  }
}
