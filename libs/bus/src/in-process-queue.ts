import { DroverError } from "@drover/kernel";
import { type ConsumeOptions, dedupeWindowMs, type Subscription } from "./bus.ts";
import { type Subject, tokensOf } from "./subjects.ts";
import { type Delivery, handleBatch } from "./work-batch.ts";

/** What the queue holds at most, messages that are being handled or wait for another attempt included. */
export interface InProcessQueueLimits {
  /** Default 10,000. */
  readonly maxMessages: number;
  /** Default 64 MB. */
  readonly maxBytes: number;
}

interface Entry {
  readonly subject: Subject;
  readonly data: Uint8Array;
  deliveries: number;
}

/** The work queue of one process. */
export class InProcessQueue implements AsyncDisposable {
  readonly #limits: InProcessQueueLimits;
  readonly #waiting: Entry[] = [];
  readonly #seen = new Map<string, number>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #consumers = new Set<Subscription>();
  readonly #wakers = new Set<() => void>();
  #messages = 0;
  #bytes = 0;
  #open = true;

  constructor({ maxMessages = 10_000, maxBytes = 64 * 1024 * 1024 }: Partial<InProcessQueueLimits>) {
    this.#limits = { maxMessages, maxBytes };
  }

  /** RESOURCE_EXHAUSTED when full, UNAVAILABLE when closed; a message id of the last two minutes is dropped. */
  add(subject: Subject, data: Uint8Array, messageId: string): void {
    if (!this.#open) throw new DroverError("UNAVAILABLE", "The bus is closed.", { reason: "BUS_UNAVAILABLE" });
    if (this.#isRepeat(messageId)) return;
    if (this.#messages >= this.#limits.maxMessages || this.#bytes + data.byteLength > this.#limits.maxBytes) {
      throw new DroverError("RESOURCE_EXHAUSTED", "The work queue is full.", {
        reason: "QUEUE_FULL",
        retryAfterMs: 1000,
      });
    }
    this.#seen.set(messageId, performance.now());
    this.#messages++;
    this.#bytes += data.byteLength;
    this.#waiting.push({ subject, data, deliveries: 0 });
    this.#wakeAll();
  }

  consume(options: ConsumeOptions): Subscription {
    const stop = new AbortController();
    const running = this.#run(options, stop.signal);
    const subscription: Subscription = {
      ready: Promise.resolve(),
      [Symbol.asyncDispose]: async () => {
        this.#consumers.delete(subscription);
        stop.abort();
        this.#wakeAll();
        await running;
      },
    };
    this.#consumers.add(subscription);
    return subscription;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#open = false;
    for (const timer of this.#timers) clearTimeout(timer);
    await Promise.all([...this.#consumers].map((consumer) => consumer[Symbol.asyncDispose]()));
  }

  async #run(options: ConsumeOptions, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const entries = this.#waiting.splice(0, options.batchSize ?? 64);
      if (entries.length === 0) {
        await new Promise<void>((resolve) => this.#wakers.add(resolve));
        continue;
      }
      await this.#handle(entries, options, signal);
    }
  }

  async #handle(entries: readonly Entry[], options: ConsumeOptions, signal: AbortSignal): Promise<void> {
    const open = new Set(entries);
    const done = (entry: Entry) => {
      open.delete(entry);
      this.#messages--;
      this.#bytes -= entry.data.byteLength;
    };
    const deliveries = entries.map((entry): Delivery => {
      entry.deliveries++;
      const { subject, data } = entry;
      return {
        message: { subject, tokens: tokensOf(subject), data, deliveries: entry.deliveries },
        ack: () => done(entry),
        bury: async () => done(entry),
        retry: (delayMs) => {
          open.delete(entry);
          this.#later(delayMs, entry);
        },
      };
    });
    try {
      await handleBatch(deliveries, options, signal);
    } catch {
      // Only an abort comes here; another consumer gets what this one leaves, in its old place.
      this.#waiting.unshift(...open);
      this.#wakeAll();
    }
  }

  #later(delayMs: number, entry: Entry): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#waiting.push(entry);
      this.#wakeAll();
    }, delayMs);
    this.#timers.add(timer);
  }

  #wakeAll(): void {
    const wakers = [...this.#wakers];
    this.#wakers.clear();
    for (const wake of wakers) wake();
  }

  #isRepeat(messageId: string): boolean {
    const oldest = performance.now() - dedupeWindowMs;
    // Insertion order is age order, so the first that is young enough ends the sweep.
    for (const [id, at] of this.#seen) {
      if (at >= oldest) break;
      this.#seen.delete(id);
    }
    return this.#seen.has(messageId);
  }
}
