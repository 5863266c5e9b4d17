import { type Clock, DroverError, invalidField } from "@drover/kernel";
import { approvalLog } from "../domain/approval.ts";
import type { Approval, ApprovalStore } from "./decision-ports.ts";
import type { TaskSignals } from "./ports.ts";

/** Changes read at once. */
const pageSize = 100;

/** What watching approvals needs. */
export interface ApprovalWatchParts {
  readonly approvals: ApprovalStore;
  readonly signals: TaskSignals;
  readonly clock: Clock;
  readonly heartbeatMs: number;
  /** Safety net for lost hints. */
  readonly pollMs: number;
  readonly onFault: (fault: unknown, what: string) => void;
}

/** One message of a watch; without an approval it is a heartbeat. */
export interface ApprovalMessage {
  readonly approval: Approval | undefined;
  /** Newest sequence that was sent. */
  readonly sequence: number;
}

/** The watches of approvals of this process: one follower for each tenant that is watched, however many watch. */
export class ApprovalHubs implements AsyncDisposable {
  readonly #parts: ApprovalWatchParts;
  readonly #hubs = new Map<string, Hub>();
  #closed = false;

  constructor(parts: ApprovalWatchParts) {
    this.#parts = parts;
  }

  /**
   * Every change of the tenant's approvals after a sequence, once and in order, then live: a heartbeat at once and after
   * each silence. INVALID_ARGUMENT for a sequence that is not there yet, UNAVAILABLE when the server shuts down.
   */
  async *watch(tenant: string, after: number, signal: AbortSignal): AsyncGenerator<ApprovalMessage, void, undefined> {
    const newest = await this.#parts.approvals.newest(tenant);
    if (after < 0 || after > newest) {
      throw invalidField("after_sequence", String(after), `0 to ${newest}, the newest sequence of this tenant`);
    }
    yield { approval: undefined, sequence: after };
    if (this.#closed) throw draining();
    const hub = this.#hubs.get(tenant) ?? new Hub(this.#parts, tenant, newest);
    this.#hubs.set(tenant, hub);
    const place = new Place();
    hub.places.add(place);
    const onAbort = () => place.wake();
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      yield* this.#follow(hub, place, tenant, after, signal);
    } finally {
      signal.removeEventListener("abort", onAbort);
      hub.places.delete(place);
      if (hub.places.size === 0 && this.#hubs.get(tenant) === hub) {
        this.#hubs.delete(tenant);
        await hub.close();
      }
    }
  }

  async *#follow(
    hub: Hub,
    place: Place,
    tenant: string,
    after: number,
    signal: AbortSignal,
  ): AsyncGenerator<ApprovalMessage, void, undefined> {
    const { approvals, clock, heartbeatMs } = this.#parts;
    let cursor = after;
    let heartbeatAt = clock.monotonicMs() + heartbeatMs;
    while (!signal.aborted) {
      if (this.#closed) throw draining();
      const { latest } = hub;
      const changes = latest > cursor ? await approvals.changes(tenant, cursor, pageSize) : [];
      for (const approval of changes) {
        yield { approval, sequence: approval.sequence };
        cursor = approval.sequence;
      }
      const now = clock.monotonicMs();
      if (changes.length > 0) {
        heartbeatAt = now + heartbeatMs;
      } else if (now >= heartbeatAt) {
        yield { approval: undefined, sequence: cursor };
        heartbeatAt = now + heartbeatMs;
      } else {
        // What was removed by retention leaves a hole: nothing after it is waited for twice.
        if (latest > cursor) cursor = latest;
        await place.wait(heartbeatAt - now, clock);
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    const hubs = [...this.#hubs.values()];
    this.#hubs.clear();
    await Promise.all(hubs.map((hub) => hub.close()));
  }
}

/** Follows the log of one tenant's approvals while somebody watches it. */
class Hub {
  readonly places = new Set<Place>();
  latest: number;
  readonly #parts: ApprovalWatchParts;
  readonly #tenant: string;
  readonly #stop = new AbortController();
  readonly #hints: Disposable;
  readonly #polling: Promise<void>;
  readonly #looked = new Place();

  constructor(parts: ApprovalWatchParts, tenant: string, latest: number) {
    this.#parts = parts;
    this.#tenant = tenant;
    this.latest = latest;
    const onHint = () => this.#looked.wake();
    this.#hints = parts.signals.follow(tenant, approvalLog, { onHint, onDelta: () => undefined });
    this.#polling = this.#poll();
  }

  async close(): Promise<void> {
    this.#stop.abort();
    this.#hints[Symbol.dispose]();
    this.#looked.wake();
    for (const place of this.places) place.wake();
    await this.#polling;
  }

  async #poll(): Promise<void> {
    const { approvals, clock, pollMs, onFault } = this.#parts;
    while (!this.#stop.signal.aborted) {
      try {
        const newest = await approvals.newest(this.#tenant);
        if (newest > this.latest) {
          this.latest = newest;
          for (const place of this.places) place.wake();
        }
      } catch (fault) {
        onFault(fault, "looking for approvals failed");
      }
      if (!this.#stop.signal.aborted) await this.#looked.wait(pollMs, clock);
    }
  }
}

/** Somebody who waits until something happens. */
class Place {
  #woken = false;
  #wake: () => void = () => undefined;

  wake(): void {
    this.#woken = true;
    this.#wake();
  }

  /** Until {@link wake}, at most `ms`; at once where it was called since the last wait. */
  async wait(ms: number, clock: Clock): Promise<void> {
    if (!this.#woken) {
      const timer = new AbortController();
      const early = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      await Promise.race([early, clock.sleep(ms, timer.signal).catch(() => undefined)]);
      timer.abort();
    }
    this.#woken = false;
  }
}

function draining(): DroverError {
  return new DroverError("UNAVAILABLE", "The server shuts down; watch again from the last sequence.", {
    reason: "DRAINING",
  });
}
