/** Frames that may be on their way without process 1 having acknowledged them. */
const window = 8;

/**
 * Feeds a program's input in pieces, at most a window ahead of what it has taken, then closes it. A
 * program that never reads costs the window and nothing else.
 */
export class StdinFeed {
  readonly #input: Uint8Array;
  readonly #piece: number;
  readonly #send: (bytes: Uint8Array | undefined) => void;
  #at = 0;
  #underway = 0;
  #closed = false;

  /** `send` gets each piece, and undefined for the end of input. */
  constructor(input: Uint8Array, piece: number, send: (bytes: Uint8Array | undefined) => void) {
    this.#input = input;
    this.#piece = piece;
    this.#send = send;
  }

  start(): void {
    this.#fill();
  }

  acknowledged(): void {
    this.#underway--;
    this.#fill();
  }

  #fill(): void {
    while (this.#underway < window && this.#at < this.#input.length) {
      this.#send(this.#input.subarray(this.#at, this.#at + this.#piece));
      this.#at += this.#piece;
      this.#underway++;
    }
    if (this.#at >= this.#input.length && !this.#closed) {
      this.#closed = true;
      this.#send(undefined);
    }
  }
}
