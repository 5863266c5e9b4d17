import { type Clock, DroverError, throwIfAborted } from "@drover/kernel";
import type { Tracer } from "@drover/tracing";
import { type PurgeProgress, stepAfter, stepAfterFailure } from "../domain/purge.ts";
import { cancelTask } from "./cancel-task.ts";
import type { TaskSignals, TaskStore } from "./ports.ts";
import type { Erasers, OpenPart, PurgeClaim, PurgeStore } from "./purge-ports.ts";

/** What going on with a removal needs. */
export interface PurgeParts {
  readonly purges: PurgeStore;
  readonly erasers: Erasers;
  readonly store: TaskStore;
  readonly signals: TaskSignals;
  readonly tracer: Tracer;
  readonly clock: Clock;
  /** How long what was written last for a task may be on its way, ms. */
  readonly settleMs: number;
}

/** Between two looks whether cancelled tasks have ended, ms. */
const lookAgainMs = 1_000;
/** Tasks that are cancelled in one go. */
const cancelled = 100;
/** Tasks that one call to a service names; it takes a thousand. */
const pageSize = 500;
/** Calls to one service before other removals have their turn. */
const callsPerTurn = 200;
/** Tasks whose rows one transaction removes. */
const ownChunk = 100;

/**
 * Goes on with a removal as far as it goes now: ends the subject's tasks, has each service erase what it keeps, and
 * removes the orchestrator's own rows last, which are what the others are found by. Where something has to be waited
 * for it is given back, and nobody is held. Every step is recorded before the next one and is safe to repeat.
 */
export async function advancePurge(parts: PurgeParts, claim: PurgeClaim, signal: AbortSignal): Promise<void> {
  const { purges } = parts;
  const waitMs = await endTasks(parts, claim);
  if (waitMs > 0) return await purges.release(claim, waitMs);
  const due = (await purges.open(claim)).filter((part) => part.due);
  const ends = await Promise.allSettled(due.map((part) => eraseIn(parts, claim, part, signal)));
  const broken = ends.find((end) => end.status === "rejected");
  if (broken !== undefined) throw broken.reason;
  if ((await purges.open(claim)).length > 0) return await purges.release(claim, undefined);
  while (!(await purges.removeOwn(claim, ownChunk))) throwIfAborted(signal);
}

/** Cancels what lives. How long its end, or the arrival of its last words, is to be waited for; 0 where it is over. */
async function endTasks(parts: PurgeParts, claim: PurgeClaim): Promise<number> {
  const { taskIds, count } = await parts.purges.living(claim, cancelled);
  for (const taskId of taskIds) {
    const requester = { tenant: claim.tenant, subject: claim.requestedBy };
    await cancelTask(parts, requester, { taskId, reason: "its data is removed", expectedVersion: 0 }).catch(unlessGone);
  }
  if (count > 0) {
    await parts.purges.explain(claim, `${count === 1 ? "One task has" : `${count} tasks have`} not ended yet.`);
    return lookAgainMs;
  }
  return await parts.purges.settle(claim, parts.settleMs);
}

function unlessGone(error: unknown): void {
  if (DroverError.from(error).code !== "NOT_FOUND") throw error;
}

/** Goes on with the part of one service. Its failures are recorded; only those of the record are thrown. */
async function eraseIn(parts: PurgeParts, claim: PurgeClaim, begun: OpenPart, signal: AbortSignal): Promise<void> {
  const { purges, erasers, settleMs } = parts;
  let part: PurgeProgress = begun;
  for (let calls = 0; calls < callsPerTurn; calls++) {
    throwIfAborted(signal);
    const targets = await purges.targets(claim, part.position, pageSize);
    const step = await erasers.erase(begun.service, claim, targets, signal).then(
      (answer) => stepAfter(part, answer, targets, settleMs),
      (caught: unknown) => {
        throwIfAborted(signal);
        const error = DroverError.from(caught);
        return stepAfterFailure(part, `${error.code}: ${error.message}`);
      },
    );
    await purges.record(claim, step);
    if (step.done || step.waitMs > 0) return;
    part = step;
  }
}
