import { type Clock, DroverError } from "@drover/kernel";
import type { Log, RevisionHints, TraceWriter } from "./ports.ts";

/** When spans are given up and traces are forgotten. */
export interface HousekeepingLimits {
  readonly everyMs: number;
  /** A span of which nobody spoke for so long has lost its producer. */
  readonly silentMs: number;
  /** The same for the spans of a task that has ended: what is open then was left by a process that is gone. */
  readonly settleMs: number;
  readonly retentionMs: number;
}

/** Rows that one transaction closes or deletes, so that none is long. */
const chunk = 500;

/**
 * Closes spans whose producer was lost and deletes traces past their retention, again and again until
 * the signal aborts. A database that is away is waited for.
 */
export async function keepHouse(
  parts: {
    readonly writer: TraceWriter;
    readonly hints: RevisionHints;
    readonly clock: Clock;
    readonly log: Log;
    readonly limits: HousekeepingLimits;
  },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await closeSilent(parts, signal);
      while (!signal.aborted && (await parts.writer.deleteOld(parts.limits.retentionMs, 50)) === 50);
    } catch (error) {
      parts.log.warn({ err: DroverError.from(error) }, "Housekeeping waits for the database.");
    }
    await parts.clock.sleep(parts.limits.everyMs, signal).catch(() => undefined);
  }
}

async function closeSilent(
  parts: { readonly writer: TraceWriter; readonly hints: RevisionHints; readonly limits: HousekeepingLimits },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const closed = await parts.writer.closeSilent(parts.limits, chunk);
    for (const revision of closed) parts.hints.publish(revision);
    if (closed.length === 0) return;
  }
}
