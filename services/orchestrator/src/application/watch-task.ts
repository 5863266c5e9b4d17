import { type Clock, invalidField } from "@drover/kernel";
import type { Task } from "../domain/task.ts";
import type { TaskEvent } from "../domain/task-event.ts";
import { isTerminal } from "../domain/task-state.ts";
import type { Delta, TaskStore } from "./ports.ts";
import { getTask } from "./read-tasks.ts";
import type { TaskHub, TaskHubs } from "./task-hub.ts";

/** One message of a watch. */
export type WatchMessage =
  | { readonly kind: "event"; readonly event: TaskEvent }
  | { readonly kind: "delta"; readonly delta: Delta }
  /** The stream lives; `sequence` is the newest that was sent. */
  | { readonly kind: "heartbeat"; readonly sequence: number }
  /** What follows `sequence` follows; what was before it is no longer kept, and is replaced by the task as it is. */
  | { readonly kind: "reset"; readonly task: Task; readonly sequence: number };

/** What a watch needs. */
export interface WatchParts {
  readonly store: Pick<TaskStore, "get">;
  readonly hubs: TaskHubs;
  readonly clock: Clock;
  readonly heartbeatMs: number;
}

/** Deltas that wait for a slow reader; more are dropped, since the durable message supersedes them. */
const waitingDeltas = 256;

/**
 * The events of a task after a sequence, then live: a heartbeat at once, every committed event once
 * and in order, a heartbeat after each silence; ends after the event of an end that nothing follows:
 * a task that was resumed goes on. Events that are no longer kept are replaced by a reset. A slow reader
 * holds up nobody: events wait in the record, deltas are dropped. NOT_FOUND for another tenant's task or
 * one that was removed, INVALID_ARGUMENT for a sequence that is not there yet, UNAVAILABLE when the
 * server shuts down.
 */
export async function* watchTask(
  parts: WatchParts,
  tenant: string,
  request: { readonly taskId: string; readonly afterSequence: number; readonly includeDeltas: boolean },
  signal: AbortSignal,
): AsyncGenerator<WatchMessage, void, undefined> {
  const task = await getTask(parts.store, tenant, request.taskId);
  const after = request.afterSequence;
  if (after < 0 || after > task.lastSequence) {
    throw invalidField("after_sequence", String(after), `0 to ${task.lastSequence}, the newest sequence of this task`);
  }
  const kept = task.firstSequence - 1;
  yield after < kept ? { kind: "reset", task, sequence: kept } : { kind: "heartbeat", sequence: after };
  if (isTerminal(task.state) && after >= task.lastSequence) return;
  const place = new Place(request.includeDeltas, parts.clock);
  using joined = parts.hubs.join(tenant, task.id, task.lastSequence, place);
  const onAbort = () => place.notify();
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    yield* follow(parts, { hub: joined.hub, place, task }, Math.max(after, kept), signal);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}

async function* follow(
  parts: WatchParts,
  { hub, place, task }: { readonly hub: TaskHub; readonly place: Place; readonly task: Task },
  after: number,
  signal: AbortSignal,
): AsyncGenerator<WatchMessage, void, undefined> {
  let cursor = after;
  let heartbeatAt = parts.clock.monotonicMs() + parts.heartbeatMs;
  while (!signal.aborted) {
    if (hub.closed !== undefined) throw hub.closed;
    const { latest } = hub;
    const events = await hub.after(cursor);
    if (cursor < latest && events[0]?.sequence !== cursor + 1) {
      const now = await getTask(parts.store, task.tenant, task.id);
      cursor = Math.max(cursor, now.firstSequence - 1);
      yield { kind: "reset", task: now, sequence: cursor };
      continue;
    }
    for (const event of events) yield { kind: "event", event };
    place.passed(events);
    const newest = events.at(-1);
    let silent = newest === undefined;
    cursor = newest?.sequence ?? cursor;
    if (newest?.body.type === "task_completed" && (await isLast(parts, task, cursor))) return;
    for (const delta of place.takeDeltas()) {
      yield { kind: "delta", delta };
      silent = false;
    }
    const now = parts.clock.monotonicMs();
    if (silent && now >= heartbeatAt) {
      yield { kind: "heartbeat", sequence: cursor };
      silent = false;
    }
    if (!silent) heartbeatAt = now + parts.heartbeatMs;
    else await place.wait(heartbeatAt - now);
  }
}

/** True where the task has ended with the event at `sequence`, and was not resumed since. */
async function isLast({ store }: WatchParts, task: Task, sequence: number): Promise<boolean> {
  const now = await store.get(task.tenant, task.id);
  return now === undefined || (isTerminal(now.state) && now.lastSequence <= sequence);
}

/** Where one watcher stands: what woke it, and the deltas that wait for it. */
class Place {
  readonly onDelta?: (delta: Delta) => void;
  readonly #clock: Clock;
  #deltas: Delta[] = [];
  #superseded = 0;
  #woken = false;
  #wake: () => void = () => undefined;

  constructor(includeDeltas: boolean, clock: Clock) {
    this.#clock = clock;
    if (includeDeltas) this.onDelta = (delta) => this.#accept(delta);
  }

  notify(): void {
    this.#woken = true;
    this.#wake();
  }

  /** Durable messages were sent: the deltas of their steps say nothing new. */
  passed(events: readonly TaskEvent[]): void {
    for (const { body } of events) {
      if (body.type === "assistant_message") this.#superseded = Math.max(this.#superseded, body.step);
    }
  }

  takeDeltas(): readonly Delta[] {
    const taken = this.#deltas.filter((delta) => delta.step > this.#superseded);
    this.#deltas = [];
    return taken;
  }

  /** Until something happens, at most `ms`. */
  async wait(ms: number): Promise<void> {
    if (!this.#woken) {
      const timer = new AbortController();
      const early = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([early, this.#clock.sleep(ms, timer.signal).catch(() => undefined)]);
      timer.abort();
    }
    this.#woken = false;
  }

  #accept(delta: Delta): void {
    if (this.#deltas.length < waitingDeltas) this.#deltas.push(delta);
    this.notify();
  }
}
