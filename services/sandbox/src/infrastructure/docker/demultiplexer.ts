import { Transform, type TransformCallback } from "node:stream";

/** A piece of one of a container's output streams. */
export interface OutputPiece {
  readonly stream: "stdout" | "stderr";
  readonly data: Buffer;
}

const headerBytes = 8;
const streamTypes: readonly (OutputPiece["stream"] | "error" | undefined)[] = ["stdout", "stdout", "stderr", "error"];

/**
 * Cuts the engine's multiplexed attach stream (type, three zero bytes, length as unsigned 32-bit
 * big-endian, payload) into pieces, one loop over each chunk however small the frames are. Payload
 * is passed on as it comes, never held until a frame is whole. A frame of type 3 is an error of the
 * engine itself; an end within a frame is an error too. A reader that stops reading stops the stream.
 */
export class Demultiplexer extends Transform {
  readonly #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  #missing = 0;
  #stream: OutputPiece["stream"] | "error" = "stdout";
  #engineError = "";

  constructor() {
    super({ readableObjectMode: true, readableHighWaterMark: 16 });
  }

  override _transform(chunk: Buffer, _encoding: BufferEncoding, callback: TransformCallback): void {
    const pieces: OutputPiece[] = [];
    const fault = this.#cut(chunk, pieces);
    for (const piece of merged(pieces)) this.push(piece);
    callback(fault);
  }

  override _flush(callback: TransformCallback): void {
    const cut = this.#missing > 0 || this.#headerFilled > 0;
    callback(cut ? new Error("The engine's stream ended within a frame.") : null);
  }

  /** Appends the payload in a chunk to `pieces`; gives what ends the stream. */
  #cut(chunk: Buffer, pieces: OutputPiece[]): Error | null {
    for (let at = 0; at < chunk.length; ) {
      if (this.#missing === 0) {
        at += this.#readHeader(chunk, at);
        if (this.#headerFilled < headerBytes) return null;
        if (!this.#beginFrame()) return new Error("The engine sent a frame of an unknown type.");
        continue;
      }
      const data = chunk.subarray(at, at + this.#missing);
      at += data.length;
      this.#missing -= data.length;
      if (this.#stream !== "error") pieces.push({ stream: this.#stream, data });
      else if (this.#endOfError(data)) return new Error(`The engine reported: ${this.#engineError}`);
    }
    return null;
  }

  #endOfError(data: Buffer): boolean {
    this.#engineError = (this.#engineError + data.toString("utf8")).slice(0, 1000);
    return this.#missing === 0;
  }

  #readHeader(chunk: Buffer, at: number): number {
    const copied = chunk.copy(this.#header, this.#headerFilled, at, at + headerBytes - this.#headerFilled);
    this.#headerFilled += copied;
    return copied;
  }

  #beginFrame(): boolean {
    const stream = streamTypes[this.#header.readUInt8(0)];
    if (stream === undefined) return false;
    this.#stream = stream;
    this.#missing = this.#header.readUInt32BE(4);
    this.#headerFilled = 0;
    return true;
  }
}

/** Pieces from this size on are passed on as they are. */
const largeBytes = 4096;

/** Small neighbours of the same stream as one piece, so that tiny frames do not become tiny pieces. */
function merged(pieces: readonly OutputPiece[]): OutputPiece[] {
  const groups: { stream: OutputPiece["stream"]; parts: Buffer[] }[] = [];
  for (const { stream, data } of pieces) {
    const last = groups.at(-1);
    if (last?.stream === stream && data.length < largeBytes) last.parts.push(data);
    else groups.push({ stream, parts: [data] });
  }
  return groups.map(({ stream, parts: [first, ...more] }) => ({
    stream,
    data: first !== undefined && more.length === 0 ? first : Buffer.concat(first === undefined ? [] : [first, ...more]),
  }));
}
