import { DroverError } from "@drover/kernel";
import type { Execution, OutputStream } from "../domain/execution.ts";
import type { Limits } from "../domain/limits.ts";
import type { OutputFacts } from "../domain/output-cap.ts";
import type { KilledBy } from "../domain/verdict.ts";

/** What happens in a run, in order. */
export type RunEvent =
  | { readonly kind: "accepted"; readonly executionId: string }
  | { readonly kind: "started"; readonly limits: Limits }
  | { readonly kind: "data"; readonly stream: OutputStream; readonly offset: number; readonly data: Uint8Array }
  | { readonly kind: "ended"; readonly execution: Execution };

/** The program of a run while it runs: what it wrote so far, and how to end it. */
export interface RunView {
  readonly stdout: { facts(): OutputFacts };
  readonly stderr: { facts(): OutputFacts };
  stop(graceMs: number): void;
}

const mergeUpTo = 32 * 1024;

/**
 * A run of this process with everything that happened in it so far, so that any number of followers
 * see the same events from the first one on. The log is bounded because output stops at the run's
 * output cap. When the last follower leaves before the end, the run is cancelled.
 */
export class LiveRun {
  readonly execution: Execution;
  /** Absent before the program runs. */
  view: RunView | undefined;
  /** When the program began; the record says so a moment later. */
  startedAt: Date | undefined;
  readonly #log: RunEvent[] = [];
  readonly #wake = new Set<() => void>();
  readonly #cancel = new AbortController();
  #delivered = 0;
  #followers = 0;
  #over = false;
  #failure: DroverError | undefined;

  constructor(execution: Execution) {
    this.execution = execution;
    this.#push({ kind: "accepted", executionId: execution.id });
  }

  /** Aborts when the run shall end; its reason is the {@link KilledBy}. */
  get cancelSignal(): AbortSignal {
    return this.#cancel.signal;
  }

  cancel(by: KilledBy = "cancel"): void {
    if (!this.#over) this.#cancel.abort(by);
  }

  started(limits: Limits): void {
    this.#push({ kind: "started", limits });
  }

  /** Adds output that nobody has seen yet to the last event, so that tiny writes do not make tiny messages. */
  output(stream: OutputStream, offset: number, data: Uint8Array): void {
    const last = this.#log.at(-1);
    const unseen = this.#log.length > this.#delivered;
    if (unseen && last?.kind === "data" && last.stream === stream && last.data.length + data.length <= mergeUpTo) {
      const merged = new Uint8Array(last.data.length + data.length);
      merged.set(last.data);
      merged.set(data, last.data.length);
      this.#log[this.#log.length - 1] = { ...last, data: merged };
    } else {
      // Not `slice`: that of a Buffer shares its bytes.
      this.#push({ kind: "data", stream, offset, data: new Uint8Array(data) });
    }
  }

  ended(execution: Execution): void {
    this.#over = true;
    this.#push({ kind: "ended", execution });
  }

  /** The run could not be started and left no record: every follower gets the error. */
  failed(error: unknown): void {
    this.#over = true;
    this.#failure = DroverError.from(error);
    this.#wakeAll();
  }

  /**
   * All events from the first one, live to the end. It counts as followed from this call on; an abort
   * counts as leaving at once, also while the consumer is slow, and ends the iteration with the
   * signal's reason.
   */
  follow(signal: AbortSignal): AsyncGenerator<RunEvent, void, undefined> {
    this.#followers++;
    const leave = () => {
      signal.removeEventListener("abort", leave);
      if (--this.#followers === 0) this.cancel();
    };
    if (signal.aborted) leave();
    else signal.addEventListener("abort", leave, { once: true });
    return this.#events(signal, () => {
      if (!signal.aborted) leave();
    });
  }

  async *#events(signal: AbortSignal, leave: () => void): AsyncGenerator<RunEvent, void, undefined> {
    try {
      for (let next = 0; ; ) {
        while (next < this.#log.length) {
          const event = this.#log[next++] as RunEvent;
          this.#delivered = Math.max(this.#delivered, next);
          yield event;
        }
        if (this.#failure !== undefined) throw this.#failure;
        if (this.#over) return;
        await this.#change(signal);
      }
    } finally {
      leave();
    }
  }

  #push(event: RunEvent): void {
    this.#log.push(event);
    this.#wakeAll();
  }

  #wakeAll(): void {
    for (const wake of this.#wake) wake();
  }

  async #change(signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw DroverError.from(signal.reason);
    const changed = Promise.withResolvers<void>();
    const onAbort = () => changed.reject(DroverError.from(signal.reason));
    this.#wake.add(changed.resolve);
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      await changed.promise;
    } finally {
      this.#wake.delete(changed.resolve);
      signal.removeEventListener("abort", onAbort);
    }
  }
}
