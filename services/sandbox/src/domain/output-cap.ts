/** What is known about one output stream at its end. */
export interface OutputFacts {
  readonly seen: number;
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
  /** Bytes between head and tail that were dropped. */
  readonly dropped: number;
}

/**
 * Keeps the first and the last bytes of a stream of any length within `capacity` bytes: half for the
 * head, half for the tail. Up to `capacity` bytes nothing is dropped. Bytes are never decoded here.
 */
export class OutputCap {
  readonly #head: Uint8Array;
  readonly #tail: Uint8Array;
  #seen = 0;

  constructor(capacity: number) {
    this.#head = new Uint8Array(Math.ceil(capacity / 2));
    this.#tail = new Uint8Array(Math.floor(capacity / 2));
  }

  get seen(): number {
    return this.#seen;
  }

  push(bytes: Uint8Array): void {
    const forHead = Math.min(Math.max(this.#head.length - this.#seen, 0), bytes.length);
    if (forHead > 0) this.#head.set(bytes.subarray(0, forHead), this.#seen);
    this.#pushTail(bytes.subarray(forHead), this.#seen + forHead - this.#head.length);
    this.#seen += bytes.length;
  }

  facts(): OutputFacts {
    const beyond = Math.max(this.#seen - this.#head.length, 0);
    const kept = Math.min(beyond, this.#tail.length);
    return {
      seen: this.#seen,
      head: this.#head.slice(0, Math.min(this.#seen, this.#head.length)),
      tail: this.#tailInOrder(beyond, kept),
      dropped: beyond - kept,
    };
  }

  #pushTail(bytes: Uint8Array, position: number): void {
    const size = this.#tail.length;
    if (size === 0 || bytes.length === 0) return;
    const skipped = Math.max(bytes.length - size, 0);
    const last = bytes.subarray(skipped);
    const start = (position + skipped) % size;
    const first = Math.min(last.length, size - start);
    this.#tail.set(last.subarray(0, first), start);
    this.#tail.set(last.subarray(first), 0);
  }

  #tailInOrder(beyond: number, kept: number): Uint8Array {
    if (beyond <= this.#tail.length) return this.#tail.slice(0, kept);
    const start = beyond % this.#tail.length;
    const ordered = new Uint8Array(kept);
    ordered.set(this.#tail.subarray(start), 0);
    ordered.set(this.#tail.subarray(0, start), this.#tail.length - start);
    return ordered;
  }
}
