/**
 * Replaces one folder's path by the name it is shown under, in a stream of bytes cut anywhere: what could be the
 * beginning of the path is held back until it is known. Bytes that are not the path pass as they came.
 */
export class PathDisplay {
  readonly #path: Buffer;
  readonly #shown: Buffer;
  #held: Buffer = Buffer.alloc(0);

  constructor(path: string, shown: string) {
    this.#path = Buffer.from(path);
    this.#shown = Buffer.from(shown);
  }

  push(chunk: Uint8Array): Buffer {
    const bytes = Buffer.concat([this.#held, chunk]);
    const parts: Buffer[] = [];
    let at = 0;
    for (let found = bytes.indexOf(this.#path); found >= 0; found = bytes.indexOf(this.#path, at)) {
      parts.push(bytes.subarray(at, found), this.#shown);
      at = found + this.#path.length;
    }
    const rest = bytes.subarray(at);
    const hold = this.#beginningIn(rest);
    this.#held = Buffer.from(rest.subarray(rest.length - hold));
    return Buffer.concat([...parts, rest.subarray(0, rest.length - hold)]);
  }

  /** What was held back, at the end of the stream. */
  end(): Buffer {
    const rest = this.#held;
    this.#held = Buffer.alloc(0);
    return rest;
  }

  /** Length of the longest end of `bytes` that the path begins with. */
  #beginningIn(bytes: Buffer): number {
    for (let length = Math.min(bytes.length, this.#path.length - 1); length > 0; length--) {
      if (bytes.subarray(bytes.length - length).equals(this.#path.subarray(0, length))) return length;
    }
    return 0;
  }
}
