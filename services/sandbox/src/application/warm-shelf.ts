import { type Clock, newId } from "@drover/kernel";
import type { Container, Log } from "./ports.ts";

/** How many containers of one image are kept ready. */
export interface ShelfSize {
  /** Ready even when nobody asks. */
  readonly min: number;
  /** Never more, whatever is asked. */
  readonly max: number;
}

/** Times of a shelf, in milliseconds. */
export interface ShelfTimes {
  /** How long demand is remembered: after it without a request only the minimum is kept. */
  readonly idleMs: number;
  /** A container that has waited this long is replaced. */
  readonly maxAgeMs: number;
}

/** A started container that nothing has run in. */
export interface WarmContainer {
  /** What its run label says. */
  readonly warmId: string;
  readonly container: Container;
}

/** What a shelf works with. */
export interface ShelfParts {
  readonly image: string;
  readonly size: ShelfSize;
  readonly times: ShelfTimes;
  readonly clock: Clock;
  readonly log: Log;
  /** Starts a container whose run label is `warmId`. */
  start(warmId: string, signal: AbortSignal): Promise<Container>;
  /** Takes the memory of one container, until it is gone or a run pays for it; undefined where there is none to spare. */
  hold(): (() => void) | undefined;
  /** What the image's name means now; another answer makes all waiting containers useless. */
  identify(image: string, signal: AbortSignal): Promise<string>;
}

/** Containers asked for within this time are wanted ready at once the next time. */
const demandWindowMs = 2000;
const startTimeoutMs = 30_000;
const identifyTimeoutMs = 3000;
/** Two at once keep the engine busy and leave the machine to the programs. */
const startsAtOnce = 2;

interface Waiting extends WarmContainer {
  readonly madeOf: string;
  readonly since: number;
  readonly giveBack: () => void;
}

interface Starting {
  /** Set while somebody waits for this container. */
  claim: ((warm: WarmContainer | undefined) => void) | undefined;
  /** Aborts when its memory is needed before it is there. */
  readonly shed: AbortController;
  done: Promise<void>;
}

/**
 * Containers of one image that were started ahead. Each is given away once and never comes back. As
 * many are kept as were lately asked for within two seconds, between the size's bounds.
 */
export class WarmShelf {
  readonly #parts: ShelfParts;
  readonly #waiting: Waiting[] = [];
  readonly #starting = new Set<Starting>();
  readonly #held = new Set<string>();
  readonly #work = new Set<Promise<unknown>>();
  /** Those that go, and hold their memory until they are gone. */
  readonly #going = new Set<Promise<void>>();
  readonly #stop = new AbortController();
  readonly #takes: number[] = [];
  #peak = { count: 0, at: Number.NEGATIVE_INFINITY };
  #madeOf: { readonly id: string; readonly at: number } | undefined;
  #failing = false;

  constructor(parts: ShelfParts) {
    this.#parts = parts;
  }

  /** How many wait. */
  get ready(): number {
    return this.#waiting.length;
  }

  /** True for a container that waits here, is being started for here, or goes. */
  holds(warmId: string): boolean {
    return this.#held.has(warmId);
  }

  /** The image's id where it was looked at within `withinMs` and a container of it waits. */
  vouched(withinMs: number): string | undefined {
    if (this.#madeOf === undefined || this.#parts.clock.monotonicMs() - this.#madeOf.at > withinMs) return undefined;
    return this.#waiting.some((warm) => this.#usable(warm)) ? this.#madeOf.id : undefined;
  }

  /** Gives a container away: one that waits, or the next one that is being started; undefined where there is none. */
  async take(signal: AbortSignal): Promise<WarmContainer | undefined> {
    this.#noteDemand();
    try {
      for (let warm = this.#waiting.shift(); warm !== undefined; warm = this.#waiting.shift()) {
        if (this.#usable(warm)) {
          this.#held.delete(warm.warmId);
          warm.giveBack();
          return warm;
        }
        void this.#discard(warm);
      }
      return await this.#next(signal);
    } finally {
      this.#refill();
    }
  }

  /** Gives one container up, or one that is being started, and resolves when its memory is free; undefined where there is none. */
  shed(): Promise<void> | undefined {
    const warm = this.#waiting.pop();
    if (warm !== undefined) return this.#discard(warm);
    const starting = [...this.#starting].find(({ claim }) => claim === undefined);
    if (starting === undefined) return [...this.#going][0];
    starting.shed.abort();
    return starting.done;
  }

  /** Looks after what waits: replaces what is dead, old or made of an older image, and brings the number to what is wanted. */
  async tend(): Promise<void> {
    const { image, identify } = this.#parts;
    if (this.#wanted() === 0 && this.#waiting.length === 0) return;
    try {
      const signal = AbortSignal.any([this.#stop.signal, AbortSignal.timeout(identifyTimeoutMs)]);
      this.#madeOf = { id: await identify(image, signal), at: this.#parts.clock.monotonicMs() };
      this.#failing = false;
    } catch (error) {
      this.#fail(error);
    }
    const useless = this.#waiting.filter((warm) => !this.#usable(warm));
    const surplus = this.#waiting.filter((warm) => this.#usable(warm)).slice(this.#wanted());
    for (const warm of [...useless, ...surplus]) {
      this.#waiting.splice(this.#waiting.indexOf(warm), 1);
      void this.#discard(warm);
    }
    this.#refill();
  }

  /** Starts nothing more, removes what waits, and resolves when all is gone or given up to the reaper. */
  async close(): Promise<void> {
    this.#stop.abort();
    for (const warm of this.#waiting.splice(0)) void this.#discard(warm);
    while (this.#work.size > 0) await Promise.all(this.#work);
  }

  #usable({ container, madeOf, since }: Waiting): boolean {
    const { clock, times } = this.#parts;
    return container.alive && madeOf === this.#madeOf?.id && clock.monotonicMs() - since < times.maxAgeMs;
  }

  async #next(signal: AbortSignal): Promise<WarmContainer | undefined> {
    const starting = [...this.#starting].find(({ claim, shed }) => claim === undefined && !shed.signal.aborted);
    if (starting === undefined) return undefined;
    const coming = Promise.withResolvers<WarmContainer | undefined>();
    const onAbort = () => {
      starting.claim = undefined;
      coming.reject(signal.reason);
    };
    starting.claim = coming.resolve;
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await coming.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }

  #noteDemand(): void {
    const now = this.#parts.clock.monotonicMs();
    this.#takes.push(now);
    while ((this.#takes[0] ?? now) < now - demandWindowMs) this.#takes.shift();
    const count = this.#takes.length;
    if (count >= this.#peak.count || this.#isOver(now)) this.#peak = { count, at: now };
  }

  #wanted(): number {
    const { min, max } = this.#parts.size;
    const demand = this.#isOver(this.#parts.clock.monotonicMs()) ? 0 : this.#peak.count;
    return Math.min(max, Math.max(min, demand));
  }

  #isOver(now: number): boolean {
    return now - this.#peak.at >= this.#parts.times.idleMs;
  }

  #refill(): void {
    if (this.#stop.signal.aborted || this.#failing) return;
    for (;;) {
      const unclaimed = [...this.#starting].filter(({ claim }) => claim === undefined).length;
      if (this.#starting.size >= startsAtOnce || this.#waiting.length + unclaimed >= this.#wanted()) return;
      const giveBack = this.#parts.hold();
      if (giveBack === undefined) return;
      const starting: Starting = { claim: undefined, shed: new AbortController(), done: Promise.resolve() };
      this.#starting.add(starting);
      starting.done = this.#begin(starting, giveBack);
      this.#track(starting.done);
    }
  }

  async #begin(starting: Starting, giveBack: () => void): Promise<void> {
    const { clock, image, identify, start } = this.#parts;
    const warmId = `warm-${newId()}`;
    const shed = starting.shed.signal;
    this.#held.add(warmId);
    let warm: Waiting | undefined;
    try {
      const signal = AbortSignal.any([this.#stop.signal, shed, AbortSignal.timeout(startTimeoutMs)]);
      this.#madeOf ??= { id: await identify(image, signal), at: clock.monotonicMs() };
      const madeOf = this.#madeOf.id;
      warm = { warmId, madeOf, since: clock.monotonicMs(), giveBack, container: await start(warmId, signal) };
    } catch (error) {
      giveBack();
      if (!shed.aborted) this.#fail(error);
    }
    this.#starting.delete(starting);
    await this.#settle(starting, warm, warmId);
    this.#refill();
  }

  async #settle({ claim, shed }: Starting, warm: Waiting | undefined, warmId: string): Promise<void> {
    if (warm !== undefined && claim === undefined && !shed.signal.aborted && !this.#stop.signal.aborted) {
      this.#waiting.push(warm);
      return;
    }
    if (claim === undefined && warm !== undefined) return await this.#discard(warm);
    this.#held.delete(warmId);
    warm?.giveBack();
    claim?.(warm);
  }

  #fail(error: unknown): void {
    if (!this.#failing && !this.#stop.signal.aborted) {
      this.#parts.log.warn({ err: error, image: this.#parts.image }, "no container could be started ahead");
    }
    this.#failing = true;
  }

  /** What cannot be removed now is left to the reaper. */
  #discard(warm: Waiting): Promise<void> {
    const going = this.#remove(warm).finally(() => {
      warm.giveBack();
      this.#held.delete(warm.warmId);
      this.#going.delete(going);
    });
    this.#going.add(going);
    this.#track(going);
    return going;
  }

  async #remove({ container }: WarmContainer): Promise<void> {
    try {
      await container[Symbol.asyncDispose]();
    } catch (error) {
      this.#parts.log.warn({ err: error, container: container.id }, "a container that waited could not be removed");
    }
  }

  #track(work: Promise<unknown>): void {
    this.#work.add(work);
    void work.finally(() => this.#work.delete(work));
  }
}
