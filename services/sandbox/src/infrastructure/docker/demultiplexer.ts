/** A piece of one of a container's output streams. */
export interface OutputPiece {
  readonly stream: "stdout" | "stderr";
  /** A part of the chunk it came in. */
  readonly data: Buffer;
}

const headerBytes = 8;
const streamTypes: readonly (OutputPiece["stream"] | "error" | undefined)[] = ["stdout", "stdout", "stderr", "error"];
/** Payload from this size on is a piece of its own; what is smaller is moved up to the payload before it. */
const largeBytes = 4096;

interface Span {
  readonly stream: OutputPiece["stream"];
  readonly from: number;
  to: number;
}

/**
 * Cuts the engine's multiplexed attach stream (type, three zero bytes, length as unsigned 32-bit big-endian, payload)
 * into pieces, one loop over each chunk however small the frames are. Payload is never copied out of the chunk: small
 * neighbours of one stream are moved together within it, so that tiny frames do not become tiny pieces.
 */
export class Demultiplexer {
  readonly #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  #missing = 0;
  #stream: OutputPiece["stream"] | "error" = "stdout";
  #engineError = "";

  /**
   * The payload in a chunk, which it writes to. Throws, after the pieces before it, at a frame of type 3, which is an
   * error of the engine itself, and at one of an unknown type.
   */
  *cut(chunk: Buffer): Generator<OutputPiece, void, undefined> {
    let span: Span | undefined;
    let fault: Error | undefined;
    for (let at = 0; at < chunk.length && fault === undefined; ) {
      if (this.#missing === 0) {
        at += this.#readHeader(chunk, at);
        if (this.#headerFilled === headerBytes) fault = this.#beginFrame();
        continue;
      }
      const end = Math.min(at + this.#missing, chunk.length);
      this.#missing -= end - at;
      if (this.#stream === "error") fault = this.#addToError(chunk.subarray(at, end));
      else if (span?.stream === this.#stream && end - at < largeBytes) {
        span.to += chunk.copy(chunk, span.to, at, end);
      } else {
        if (span !== undefined) yield pieceOf(chunk, span);
        span = { stream: this.#stream, from: at, to: end };
      }
      at = end;
    }
    if (span !== undefined) yield pieceOf(chunk, span);
    if (fault !== undefined) throw fault;
  }

  /** The stream has ended; throws where that was within a frame. */
  end(): void {
    if (this.#missing > 0 || this.#headerFilled > 0) throw new Error("The engine's stream ended within a frame.");
  }

  #addToError(data: Buffer): Error | undefined {
    this.#engineError = (this.#engineError + data.toString("utf8")).slice(0, 1000);
    return this.#missing === 0 ? new Error(`The engine reported: ${this.#engineError}`) : undefined;
  }

  #readHeader(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#header, this.#headerFilled, at, at + headerBytes - this.#headerFilled);
    this.#headerFilled += copied;
    return copied;
  }

  #beginFrame(): Error | undefined {
    const stream = streamTypes[this.#header.readUInt8(0)];
    if (stream === undefined) return new Error("The engine sent a frame of an unknown type.");
    this.#stream = stream;
    this.#missing = this.#header.readUInt32BE(4);
    this.#headerFilled = 0;
    return undefined;
  }
}

function pieceOf(chunk: Buffer, { stream, from, to }: Span): OutputPiece {
  return { stream, data: chunk.subarray(from, to) };
}
