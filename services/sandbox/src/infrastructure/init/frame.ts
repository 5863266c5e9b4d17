/** Frame types of drover-init's protocol; see init/README.md. */
export const frameTypes = {
  file: 0x01,
  fileData: 0x02,
  run: 0x03,
  stdin: 0x04,
  stdinClose: 0x05,
  kill: 0x06,
  collect: 0x07,
  delete: 0x21,
  pause: 0x22,
  resume: 0x23,
  input: 0x24,
  inputClose: 0x25,
  ready: 0x81,
  started: 0x82,
  stdout: 0x83,
  stderr: 0x84,
  exit: 0x85,
  change: 0x86,
  changeData: 0x87,
  changesEnd: 0x88,
  fault: 0x8a,
  stdinAck: 0x8b,
  taggedStdout: 0xa1,
  taggedStderr: 0xa2,
  inputAck: 0xa3,
} as const;

const headerBytes = 5;
const maxPayload = 1024 ** 2;

/** One message of the protocol. */
export interface Frame {
  readonly type: number;
  readonly payload: Buffer;
}

/** A frame as bytes: type, length as unsigned 32-bit big-endian, payload. */
export function encodeFrame(type: number, payload: Uint8Array): Buffer {
  const frame = Buffer.allocUnsafe(headerBytes + payload.length);
  frame.writeUInt8(type, 0);
  frame.writeUInt32BE(payload.length, 1);
  frame.set(payload, headerBytes);
  return frame;
}

/** A control frame; its payload is JSON. */
export function encodeControl(type: number, value: unknown): Buffer {
  return encodeFrame(type, Buffer.from(JSON.stringify(value)));
}

/** Frames whose payload means the same in pieces: it is passed on as it comes, so that much output is never copied here. */
const passedOn = new Set<number>([frameTypes.stdout, frameTypes.stderr]);

/**
 * Cuts a stream of bytes, in chunks of any size, into frames; a frame of output may come as several. A payload that
 * lies whole in a chunk is a part of it, and is good for as long as the chunk is. Throws on a frame over 1 MiB.
 */
export class FrameParser {
  readonly #header = Buffer.alloc(headerBytes);
  #headerFilled = 0;
  #missing = 0;
  /** A payload that is passed on whole, of which the first bytes are there. */
  #begun: Buffer | undefined;

  push(chunk: Buffer): Frame[] {
    const frames: Frame[] = [];
    for (let at = 0; at < chunk.length; ) {
      if (this.#headerFilled < headerBytes) {
        const copied = chunk.copy(this.#header, this.#headerFilled, at, at + headerBytes - this.#headerFilled);
        at += copied;
        this.#headerFilled += copied;
        if (this.#headerFilled < headerBytes || !this.#isEmpty()) continue;
      }
      const payload = chunk.subarray(at, at + this.#missing);
      at += payload.length;
      this.#missing -= payload.length;
      this.#take(payload, frames);
    }
    return frames;
  }

  /** Begins a frame whose header is there. */
  #isEmpty(): boolean {
    const size = this.#header.readUInt32BE(1);
    if (size > maxPayload) throw new Error(`Process 1 announced a frame of ${size} bytes.`);
    this.#missing = size;
    return size === 0;
  }

  #take(payload: Buffer, frames: Frame[]): void {
    const type = this.#header.readUInt8(0);
    const isOver = this.#missing === 0;
    if (isOver) this.#headerFilled = 0;
    if (passedOn.has(type)) {
      if (payload.length > 0) frames.push({ type, payload });
    } else if (isOver && this.#begun === undefined) {
      frames.push({ type, payload });
    } else {
      this.#begun ??= Buffer.allocUnsafe(payload.length + this.#missing);
      this.#begun.set(payload, this.#begun.length - this.#missing - payload.length);
      if (!isOver) return;
      frames.push({ type, payload: this.#begun });
      this.#begun = undefined;
    }
  }
}
