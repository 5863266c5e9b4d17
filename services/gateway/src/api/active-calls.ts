import { DroverError } from "@drover/kernel";

/** A call that runs at the edge. */
export interface ActiveCall {
  /** Its client can go on elsewhere, so a drain does not wait for it. */
  readonly resumable: boolean;
  /** Ends it towards its client with an error, and cancels what runs for it. */
  end(error: DroverError): void;
}

/** The calls that run, so that a drain can end them. */
export class ActiveCalls {
  readonly #calls = new Set<ActiveCall>();
  #draining = false;
  #idle: (() => void) | undefined;

  get size(): number {
    return this.#calls.size;
  }

  add(call: ActiveCall): void {
    this.#calls.add(call);
    if (this.#draining && call.resumable) call.end(drained());
  }

  delete(call: ActiveCall): void {
    this.#calls.delete(call);
    if (this.#calls.size === 0) this.#idle?.();
  }

  /** Ends resumable calls now and the others after `graceMs`; resolves when none is left. */
  async drain(graceMs: number): Promise<void> {
    this.#draining = true;
    for (const call of [...this.#calls]) if (call.resumable) call.end(drained());
    if (this.#calls.size === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        for (const call of [...this.#calls]) call.end(drained());
        resolve();
      }, graceMs);
      this.#idle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function drained(): DroverError {
  return new DroverError("UNAVAILABLE", "The gateway is shutting down; call again and resume from the last sequence.", {
    reason: "DRAINING",
    retryAfterMs: 1000,
  });
}
