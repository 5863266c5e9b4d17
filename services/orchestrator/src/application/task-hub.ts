import { type Clock, DroverError } from "@drover/kernel";
import type { TaskEvent } from "../domain/task-event.ts";
import type { Delta, TaskSignals, TaskStore } from "./ports.ts";

/** Newest events that a hub keeps for its watchers; who is further behind reads from the record. */
const keptEvents = 256;
/** Events read at once. */
const pageSize = 200;

/** One watcher's place at a hub. */
export interface Subscriber {
  /** There is something to look for. */
  notify(): void;
  /** Absent where the watcher does not want them. */
  readonly onDelta?: (delta: Delta) => void;
}

/**
 * The one follower of a task's event log on behalf of all its watchers in this process: a hint, or
 * the poll that makes up for lost hints, costs one read, however many watch. It follows while it has
 * subscribers.
 */
export class TaskHub {
  readonly #parts: HubParts;
  readonly #tenant: string;
  readonly #taskId: string;
  readonly #subscribers = new Set<Subscriber>();
  readonly #stop = new AbortController();
  readonly #signals: Disposable;
  #events: TaskEvent[] = [];
  #latest: number;
  #refreshing: Promise<void> | undefined;
  #again = false;
  closed: DroverError | undefined;

  /** `latest` is the newest sequence known; the hub itself finds what came after it. */
  constructor(parts: HubParts, tenant: string, taskId: string, latest: number) {
    this.#parts = parts;
    this.#tenant = tenant;
    this.#taskId = taskId;
    this.#latest = latest;
    this.#signals = parts.signals.follow(tenant, taskId, {
      onHint: (sequence) => {
        if (sequence > this.#latest) this.refresh();
      },
      onDelta: (delta) => {
        for (const subscriber of this.#subscribers) subscriber.onDelta?.(delta);
      },
    });
    void this.#poll();
    this.refresh();
  }

  get size(): number {
    return this.#subscribers.size;
  }

  /** Newest sequence that is known here. */
  get latest(): number {
    return this.#latest;
  }

  add(subscriber: Subscriber): void {
    this.#subscribers.add(subscriber);
  }

  remove(subscriber: Subscriber): void {
    this.#subscribers.delete(subscriber);
  }

  /** Events after `cursor`, at most a page of them; empty where there is nothing new yet. */
  async after(cursor: number): Promise<readonly TaskEvent[]> {
    if (cursor >= this.#latest) return [];
    const first = this.#events[0]?.sequence ?? this.#latest + 1;
    if (cursor + 1 >= first) return this.#events.slice(cursor + 1 - first, cursor + 1 - first + pageSize);
    return await this.#parts.store.events(this.#tenant, this.#taskId, cursor, pageSize);
  }

  /** Looks for new events; one look at a time, and one more where it was asked for meanwhile. */
  refresh(): void {
    this.#again = true;
    this.#refreshing ??= this.#refreshAll().finally(() => {
      this.#refreshing = undefined;
    });
  }

  /** Stops following; with an error the watchers end with it. */
  async close(error?: DroverError): Promise<void> {
    this.closed = error;
    this.#stop.abort();
    this.#signals[Symbol.dispose]();
    for (const subscriber of this.#subscribers) subscriber.notify();
    await this.#refreshing;
  }

  async #refreshAll(): Promise<void> {
    while (this.#again && !this.#stop.signal.aborted) {
      this.#again = false;
      try {
        const events = await this.#parts.store.events(this.#tenant, this.#taskId, this.#latest, pageSize);
        this.#take(events);
        if (events.length === pageSize) this.#again = true;
      } catch (error) {
        // The next hint or poll tries again; watchers lose nothing.
        this.#parts.onFault(error, "reading events failed");
      }
    }
  }

  #take(events: readonly TaskEvent[]): void {
    const last = events.at(-1);
    if (last === undefined) return;
    this.#events = [...this.#events, ...events].slice(-keptEvents);
    this.#latest = last.sequence;
    for (const subscriber of this.#subscribers) subscriber.notify();
  }

  async #poll(): Promise<void> {
    const { clock, pollMs } = this.#parts;
    while (!this.#stop.signal.aborted) {
      await clock.sleep(pollMs, this.#stop.signal).catch(() => undefined);
      if (!this.#stop.signal.aborted) this.refresh();
    }
  }
}

/** What hubs need. */
export interface HubParts {
  readonly store: Pick<TaskStore, "events">;
  readonly signals: Pick<TaskSignals, "follow">;
  readonly clock: Clock;
  /** Safety net for lost hints. */
  readonly pollMs: number;
  readonly onFault: (fault: unknown, what: string) => void;
}

/** The hubs of this process, one for each task that is watched. Disposing ends all watches with UNAVAILABLE. */
export class TaskHubs implements AsyncDisposable {
  readonly #parts: HubParts;
  readonly #hubs = new Map<string, TaskHub>();
  #closed: DroverError | undefined;

  constructor(parts: HubParts) {
    this.#parts = parts;
  }

  /** Watches in this process. */
  get watchers(): number {
    let count = 0;
    for (const hub of this.#hubs.values()) count += hub.size;
    return count;
  }

  /** Joins the hub of a task until disposed of. */
  join(tenant: string, taskId: string, latest: number, subscriber: Subscriber): { readonly hub: TaskHub } & Disposable {
    if (this.#closed !== undefined) throw this.#closed;
    const key = `${tenant}/${taskId}`;
    const hub = this.#hubs.get(key) ?? new TaskHub(this.#parts, tenant, taskId, latest);
    this.#hubs.set(key, hub);
    hub.add(subscriber);
    return {
      hub,
      [Symbol.dispose]: () => {
        hub.remove(subscriber);
        if (hub.size > 0 || this.#hubs.get(key) !== hub) return;
        this.#hubs.delete(key);
        void hub.close();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = new DroverError("UNAVAILABLE", "The server shuts down; watch again from the last sequence.", {
      reason: "DRAINING",
    });
    const hubs = [...this.#hubs.values()];
    this.#hubs.clear();
    await Promise.all(hubs.map((hub) => hub.close(this.#closed)));
  }
}
