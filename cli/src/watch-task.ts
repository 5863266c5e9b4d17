import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { TokenDelta } from "@drover/proto/event/v1/bus";
import type { TaskEvent } from "@drover/proto/event/v1/task_event";
import type { TaskService } from "@drover/proto/orchestrator/v1/task_service";

/** Who hears of what a watched task does. */
export interface TaskListener {
  event(event: TaskEvent): void;
  delta(delta: TokenDelta): void;
  /** The stream broke; it is resumed after `waitMs`. */
  interrupted(error: DroverError, waitMs: number): void;
}

/** Waits between attempts in milliseconds; after the last one the error is thrown. An event starts them anew. */
const resumeWaits = [250, 500, 1000, 2000, 5000, 5000, 5000, 5000] as const;

/**
 * Every event of a task after `after`, in order and once, until its terminal one. A stream that breaks with
 * UNAVAILABLE is resumed after the last event, as often as {@link resumeWaits} allows without any progress. Throws
 * DroverError; an abort of `signal` as CANCELLED.
 */
export async function watchTask(
  tasks: Pick<Client<typeof TaskService>, "watchTask">,
  watched: { readonly taskId: string; readonly after: bigint; readonly deltas: boolean },
  listener: TaskListener,
  signal: AbortSignal,
  waits: readonly number[] = resumeWaits,
): Promise<void> {
  let after = watched.after;
  let attempt = 0;
  for (;;) {
    try {
      const request = { taskId: watched.taskId, afterSequence: after, includeDeltas: watched.deltas };
      for await (const { message } of tasks.watchTask(request, { signal })) {
        if (message.case === "delta") listener.delta(message.value);
        // Older events are no longer kept; what is left follows.
        if (message.case === "reset" && message.value.sequence > after) after = message.value.sequence;
        if (message.case !== "event" || message.value.sequence <= after) continue;
        after = message.value.sequence;
        attempt = 0;
        listener.event(message.value);
      }
      return;
    } catch (caught) {
      const error = DroverError.from(caught);
      const waitMs = waits[attempt++];
      if (error.code !== "UNAVAILABLE" || signal.aborted || waitMs === undefined) throw error;
      listener.interrupted(error, waitMs);
      await sleep(waitMs, undefined, { signal }).catch((aborted: unknown) => {
        throw DroverError.from(aborted);
      });
    }
  }
}
