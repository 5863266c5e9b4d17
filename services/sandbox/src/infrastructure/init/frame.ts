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
 * Cuts a stream of bytes, in chunks of any size, into frames; a frame of output may come as several.
 * Throws on a frame over 1 MiB.
 */
export class FrameParser {
  #rest: Buffer = Buffer.alloc(0);
  /** Of a frame that is passed on, its type and what of it has not come yet. */
  #open = { type: 0, missing: 0 };

  push(chunk: Buffer): Frame[] {
    const bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    const frames: Frame[] = [];
    let position = this.#passOn(bytes, 0, frames);
    while (bytes.length - position >= headerBytes) {
      const size = bytes.readUInt32BE(position + 1);
      if (size > maxPayload) throw new Error(`Process 1 announced a frame of ${size} bytes.`);
      const end = position + headerBytes + size;
      if (bytes.length < end) {
        const type = bytes.readUInt8(position);
        if (!passedOn.has(type)) break;
        this.#open = { type, missing: size };
        position = this.#passOn(bytes, position + headerBytes, frames);
        break;
      }
      frames.push({ type: bytes.readUInt8(position), payload: bytes.subarray(position + headerBytes, end) });
      position = end;
    }
    this.#rest = bytes.subarray(position);
    return frames;
  }

  #passOn(bytes: Buffer, from: number, frames: Frame[]): number {
    const { type, missing } = this.#open;
    const payload = bytes.subarray(from, from + missing);
    if (payload.length > 0) frames.push({ type, payload });
    this.#open = { type, missing: missing - payload.length };
    return from + payload.length;
  }
}
