import { DroverError } from "@drover/kernel";

/**
 * At most `slots` runs at once, at most `queue` waiting in order of arrival. A full queue is
 * RESOURCE_EXHAUSTED at once; an abort while waiting rejects with the signal's reason.
 */
export class Admission {
  readonly #slots: number;
  readonly #queue: number;
  readonly #waiting: (() => void)[] = [];
  #used = 0;

  constructor(slots: number, queue: number) {
    this.#slots = slots;
    this.#queue = queue;
  }

  /** Throws where a call that came now would be refused. */
  check(): void {
    if (this.#used < this.#slots || this.#waiting.length < this.#queue) return;
    const message = `${this.#used} runs are running and ${this.#waiting.length} are waiting; try again later.`;
    throw new DroverError("RESOURCE_EXHAUSTED", message, { reason: "TOO_MANY_RUNS", retryAfterMs: 1000 });
  }

  /** Resolves with the function that gives the slot back. */
  async enter(signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    this.check();
    if (this.#used < this.#slots) this.#used++;
    else await this.#turn(signal);
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const next = this.#waiting.shift();
      if (next === undefined) this.#used--;
      else next();
    };
  }

  async #turn(signal: AbortSignal): Promise<void> {
    const turn = Promise.withResolvers<void>();
    const onAbort = () => {
      const index = this.#waiting.indexOf(turn.resolve);
      if (index >= 0) this.#waiting.splice(index, 1);
      turn.reject(signal.reason);
    };
    this.#waiting.push(turn.resolve);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await turn.promise;
    } finally {
      signal.removeEventListener("abort", onAbort);
    }
  }
}
