import { DroverError } from "@drover/kernel";

/** A place among the runs or in the queue. */
export interface Place {
  /** Resolves when it is this run's turn; an abort rejects with the signal's reason. */
  turn(signal: AbortSignal): Promise<void>;
  /** Gives the place back, also one that was still waiting. Again is no error. */
  leave(): void;
}

/** At most `slots` runs at once, at most `queue` waiting in order of arrival. */
export class Admission {
  readonly #slots: number;
  readonly #queue: number;
  readonly #waiting: (() => void)[] = [];
  #used = 0;

  constructor(slots: number, queue: number) {
    this.#slots = slots;
    this.#queue = queue;
  }

  /** Takes a place at once; RESOURCE_EXHAUSTED where there is none. Whoever has one is never refused later. */
  claim(): Place {
    const begin = Promise.withResolvers<void>();
    if (this.#used < this.#slots) {
      this.#used++;
      begin.resolve();
    } else if (this.#waiting.length < this.#queue) {
      this.#waiting.push(begin.resolve);
    } else {
      const message = `${this.#used} runs are running and ${this.#waiting.length} are waiting; try again later.`;
      throw new DroverError("RESOURCE_EXHAUSTED", message, { reason: "TOO_MANY_RUNS", retryAfterMs: 1000 });
    }
    let left = false;
    return {
      turn: (signal) => orAbort(begin.promise, signal),
      leave: () => {
        if (left) return;
        left = true;
        const index = this.#waiting.indexOf(begin.resolve);
        if (index >= 0) this.#waiting.splice(index, 1);
        else this.#pass();
      },
    };
  }

  #pass(): void {
    const next = this.#waiting.shift();
    if (next === undefined) this.#used--;
    else next();
  }
}

async function orAbort(work: Promise<void>, signal: AbortSignal): Promise<void> {
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
