import type { Clock } from "@drover/kernel";
import type { Tracer } from "@drover/tracing";
import type { TaskSignals, TaskStore } from "./ports.ts";
import type { TaskRecords } from "./record-ports.ts";
import { tellEnd } from "./tell-end.ts";

/** What keeping house needs, and how often what is done. */
export interface HouseParts {
  readonly store: Pick<TaskStore, "get">;
  readonly records: Pick<TaskRecords, "bury" | "expire">;
  readonly signals: Pick<TaskSignals, "committed" | "ready">;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly onFault: (fault: unknown, what: string) => void;
  /** Claims in a row without a commit after which a task is a dead letter. */
  readonly maxIdle: number;
  /** Between two looks for dead letters, ms. */
  readonly buryMs: number;
  /** Days that a task is kept after its end. */
  readonly retentionDays: number;
  /** Between two clean-ups, ms. */
  readonly cleanupMs: number;
}

/** Ends dead letters and removes what is past its retention, again and again until disposed of; a fault is told and tried again. */
export function keepHouse(parts: HouseParts): AsyncDisposable {
  const stopping = new AbortController();
  const { signal } = stopping;
  const jobs = Promise.all([
    repeat(parts, "ending dead letters failed", parts.buryMs, signal, () => buryDead(parts)),
    repeat(parts, "the clean-up failed", parts.cleanupMs, signal, () => expire(parts, signal)),
  ]);
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await jobs;
    },
  };
}

async function repeat(
  { clock, onFault }: HouseParts,
  what: string,
  everyMs: number,
  signal: AbortSignal,
  job: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    await job().catch((fault: unknown) => onFault(fault, what));
    await clock.sleep(everyMs, signal).catch(() => undefined);
  }
}

async function buryDead(parts: HouseParts): Promise<void> {
  for (const { tenant, taskId } of await parts.records.bury(parts.maxIdle)) {
    const task = await parts.store.get(tenant, taskId);
    if (task === undefined) continue;
    tellEnd(parts, task, { actor: "claimer", reason: task.failureReason, input: "claimed_in_vain" });
    // The next task of its conversation may begin.
    parts.signals.ready(taskId);
  }
}

/** A little at a time, until nothing is left: no transaction is long, and a shutdown does not wait. */
async function expire(parts: HouseParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await parts.records.expire(parts.retentionDays)) > 0);
}
