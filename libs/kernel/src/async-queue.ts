/**
 * A bounded queue between one producer that must not wait and one consumer that iterates. When it is
 * full, `push` returns false and stores nothing: the producer decides what to drop and counts it.
 */
export class AsyncQueue<T> implements AsyncIterable<T> {
  readonly #items: T[] = [];
  readonly #capacity: number;
  #wake: (() => void) | undefined;
  #ended = false;
  #error: unknown;

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  get size(): number {
    return this.#items.length;
  }

  push(item: T): boolean {
    if (this.#ended || this.#items.length >= this.#capacity) return false;
    this.#items.push(item);
    this.#wake?.();
    return true;
  }

  /** Ends the iteration after what is queued; with an error the iteration then throws it. */
  end(error?: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T, void, undefined> {
    for (;;) {
      while (this.#items.length > 0) yield this.#items.shift() as T;
      if (this.#ended) {
        if (this.#error !== undefined) throw this.#error;
        return;
      }
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
  }
}
