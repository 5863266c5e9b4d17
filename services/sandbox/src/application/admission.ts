import { type Clock, DroverError } from "@drover/kernel";
import { byteSize, counted } from "../domain/quantities.ts";

/** How much may run and wait at once. */
export interface AdmissionLimits {
  readonly slots: number;
  /** Sum of the memory limits of all that runs. */
  readonly memoryBytes: number;
  readonly queue: number;
  /** Of the queue, what one tenant may take. */
  readonly queuePerTenant: number;
}

/** Who wants to run, and how large. */
export interface AdmissionRequest {
  readonly tenant: string;
  readonly memoryBytes: number;
  /** Milliseconds until the caller gives up; undefined where it never does. */
  readonly deadlineMs: number | undefined;
}

/** A place among the runs or in the queue. */
export interface Place {
  /** Resolves when it is this run's turn; an abort rejects with the signal's reason. */
  turn(signal: AbortSignal): Promise<void>;
  /** Gives the place back, also one that was still waiting. Again is no error. */
  leave(): void;
}

interface Waiting {
  readonly memoryBytes: number;
  begin(): void;
}

const leastRetryMs = 250;
const mostRetryMs = 30_000;
/** Weight of the newest run in the mean of how long runs take. */
const newest = 0.2;

/**
 * Lets runs begin while there is a slot and memory in the budget. Those that wait are taken in turns, one of
 * each tenant, each tenant's own in order of arrival; a large one is not passed by smaller ones, so that it is
 * never starved.
 */
export class Admission {
  readonly #limits: AdmissionLimits;
  readonly #clock: Clock;
  /** Tenants in the order of their turns; a tenant without a waiting run is not in it. */
  readonly #queues = new Map<string, Waiting[]>();
  /** Of containers that were started ahead and wait: nobody waits for it, whoever needs it gets it back first. */
  #ahead = 0;
  #running = 0;
  #memory = 0;
  #waiting = 0;
  #sessions = 0;
  #freed = Promise.withResolvers<void>();
  #meanMs = 1000;
  /** Called when the next run waits for memory alone; whoever can give some back does. */
  onShort: () => void = () => undefined;

  constructor(limits: AdmissionLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /**
   * Takes a place at once. RESOURCE_EXHAUSTED, with a time after which to try again, where the queue is full, the
   * tenant has its share of it, or the caller would give up before its turn. Whoever has a place is never refused later.
   */
  claim(request: AdmissionRequest): Place {
    const { tenant, memoryBytes } = request;
    if (memoryBytes > this.#limits.memoryBytes) {
      const message = `The run may use ${byteSize(memoryBytes)} of memory; all runs together have ${byteSize(this.#limits.memoryBytes)}.`;
      throw new DroverError("RESOURCE_EXHAUSTED", message, { reason: "OVER_MEMORY_BUDGET" });
    }
    const turn = Promise.withResolvers<void>();
    let beganMs: number | undefined;
    const begin = () => {
      beganMs = this.#clock.monotonicMs();
      turn.resolve();
    };
    const entry = { memoryBytes, begin };
    if (this.#waiting === 0 && this.#fits(memoryBytes)) this.#begin(entry);
    else this.#enqueue(entry, request);
    let left = false;
    return {
      turn: (signal) => orAbort(turn.promise, signal),
      leave: () => {
        if (left) return;
        left = true;
        if (beganMs === undefined) this.#forget(tenant, entry);
        else this.#end(memoryBytes, this.#clock.monotonicMs() - beganMs);
        this.#next();
      },
    };
  }

  /** Whether the next run waits for memory alone. */
  get short(): boolean {
    const [head] = this.#queues.values();
    const next = head?.[0];
    return next !== undefined && this.#running < this.#limits.slots && !this.#fits(next.memoryBytes);
  }

  /**
   * Takes memory without a slot, for a session: at once and until what is given back is called, once or more often.
   * Undefined where it is not there, or where a run waits for memory, which comes first. {@link freed} tells when to ask again.
   */
  hold(memoryBytes: number): (() => void) | undefined {
    if (this.short || this.#memory + memoryBytes > this.#limits.memoryBytes) return undefined;
    this.#memory += memoryBytes;
    this.#sessions++;
    return once(() => {
      this.#sessions--;
      this.#giveBack(memoryBytes);
      this.#next();
    });
  }

  /** Resolves when a run or a session next gives memory back. */
  freed(): Promise<void> {
    return this.#freed.promise;
  }

  /** What has memory, in words. */
  get holders(): string {
    return `${counted(this.#running, "run")} and ${counted(this.#sessions, "session")} have ${byteSize(this.#memory)} of the ${byteSize(this.#limits.memoryBytes)} of memory`;
  }

  /**
   * Takes memory that nobody uses or waits for, for a container that is started ahead. It keeps no run and no session
   * from beginning; see {@link crowded}. Otherwise as {@link hold}.
   */
  holdAhead(memoryBytes: number): (() => void) | undefined {
    if (this.short || this.#memory + this.#ahead + memoryBytes > this.#limits.memoryBytes) return undefined;
    this.#ahead += memoryBytes;
    return once(() => {
      this.#ahead -= memoryBytes;
    });
  }

  /** Whether containers that were started ahead hold memory which was given to a run or a session meanwhile. */
  get crowded(): boolean {
    return this.#ahead > 0 && this.#memory + this.#ahead > this.#limits.memoryBytes;
  }

  #fits(memoryBytes: number): boolean {
    return this.#running < this.#limits.slots && this.#memory + memoryBytes <= this.#limits.memoryBytes;
  }

  #begin(entry: Waiting): void {
    this.#running++;
    this.#memory += entry.memoryBytes;
    entry.begin();
  }

  #end(memoryBytes: number, tookMs: number): void {
    this.#running--;
    this.#giveBack(memoryBytes);
    this.#meanMs += (tookMs - this.#meanMs) * newest;
  }

  #giveBack(memoryBytes: number): void {
    this.#memory -= memoryBytes;
    this.#freed.resolve();
    this.#freed = Promise.withResolvers<void>();
  }

  #enqueue(entry: Waiting, { tenant, deadlineMs }: AdmissionRequest): void {
    const { queue, queuePerTenant, slots } = this.#limits;
    const mine = this.#queues.get(tenant) ?? [];
    const waitMs = ((this.#waiting + 1) * this.#meanMs) / Math.min(slots, Math.max(1, this.#running));
    const retryAfterMs = Math.round(Math.min(mostRetryMs, Math.max(leastRetryMs, waitMs)));
    const refuse = (reason: string, message: string): never => {
      throw new DroverError("RESOURCE_EXHAUSTED", message, { reason, retryAfterMs });
    };
    if (this.#waiting >= queue) {
      refuse(
        "TOO_MANY_RUNS",
        `${counted(this.#running, "run")} in progress and ${this.#waiting} waiting; try again later.`,
      );
    }
    if (mine.length >= queuePerTenant) {
      refuse(
        "TOO_MANY_RUNS",
        `This tenant has ${counted(mine.length, "run")} waiting, its share of the queue; try again later.`,
      );
    }
    if (deadlineMs !== undefined && deadlineMs < waitMs) {
      refuse(
        "DEADLINE_TOO_SOON",
        `The call ends in ${Math.round(deadlineMs)} ms and its turn comes in about ${retryAfterMs}.`,
      );
    }
    this.#queues.set(tenant, mine);
    mine.push(entry);
    this.#waiting++;
    if (this.short) this.onShort();
  }

  #forget(tenant: string, entry: Waiting): void {
    const mine = this.#queues.get(tenant) ?? [];
    mine.splice(mine.indexOf(entry), 1);
    if (mine.length === 0) this.#queues.delete(tenant);
    this.#waiting--;
  }

  #next(): void {
    for (;;) {
      const [head] = this.#queues;
      if (head === undefined) return;
      const [tenant, mine] = head;
      const [entry] = mine;
      if (entry === undefined) return;
      if (!this.#fits(entry.memoryBytes)) {
        if (this.short) this.onShort();
        return;
      }
      this.#forget(tenant, entry);
      // A tenant that goes on waiting goes to the end of the line.
      if (this.#queues.delete(tenant)) this.#queues.set(tenant, mine);
      this.#begin(entry);
    }
  }
}

function once(act: () => void): () => void {
  let done = false;
  return () => {
    if (done) return;
    done = true;
    act();
  };
}

/** The work's result, or the signal's reason where that comes first; the work goes on either way. */
export async function orAbort(work: Promise<void>, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  const aborted = Promise.withResolvers<never>();
  const onAbort = () => aborted.reject(signal.reason);
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    await Promise.race([work, aborted.promise]);
  } finally {
    signal.removeEventListener("abort", onAbort);
  }
}
