/** One message of a client in the PostgreSQL protocol, version 3. */
export interface FrontendMessage {
  /** The type byte as a character; empty for the first messages of a connection, which have none. */
  readonly type: string;
  /** The whole message, type and length included. */
  readonly bytes: Uint8Array;
}

/** Most bytes of one message; PostgreSQL itself stops at one gigabyte. */
const maxMessageBytes = 64 * 1024 * 1024;
/** Version 3.0, the code of a startup message. */
export const startupPacket = 0x00030000;

/**
 * Cuts a connection's bytes into messages, however they were split on the way. Throws a RangeError for a length that
 * the protocol cannot mean or that is beyond 64 MB.
 *
 * See https://www.postgresql.org/docs/17/protocol-message-formats.html
 */
export async function* frontendMessages(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<FrontendMessage, void> {
  let pending: Buffer = Buffer.alloc(0);
  let started = false;
  for await (const chunk of chunks) {
    pending = pending.length === 0 ? Buffer.from(chunk) : Buffer.concat([pending, chunk]);
    for (let length = lengthOf(pending, started); length !== undefined; length = lengthOf(pending, started)) {
      const bytes = pending.subarray(0, length);
      pending = pending.subarray(length);
      const type = started ? String.fromCharCode(bytes[0] ?? 0) : "";
      if (!started) started = requestCode(bytes) === startupPacket;
      yield { type, bytes };
    }
  }
}

/** What the first, untyped message of a connection asks for. */
export function requestOf(message: FrontendMessage): "startup" | "encryption" | "other" {
  const code = requestCode(message.bytes);
  if (code === startupPacket) return "startup";
  // SSLRequest and GSSENCRequest; the third of the kind, CancelRequest, gets no answer.
  return code === 80877103 || code === 80877104 ? "encryption" : "other";
}

function requestCode(bytes: Uint8Array): number {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getInt32(4);
}

/** Length of the first message in the buffer when it is complete. */
function lengthOf(buffer: Buffer, started: boolean): number | undefined {
  const at = started ? 1 : 0;
  if (buffer.length < at + 4) return undefined;
  const length = buffer.readInt32BE(at);
  if (length < (started ? 4 : 8) || length > maxMessageBytes) {
    throw new RangeError(`A protocol message of ${length} bytes; at most ${maxMessageBytes} are read.`);
  }
  return buffer.length >= at + length ? at + length : undefined;
}
