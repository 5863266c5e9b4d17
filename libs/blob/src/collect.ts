import { invalidField, throwIfAborted } from "@drover/kernel";

/** Reads a source to its end. INVALID_ARGUMENT as soon as it passes the limit, and the source is then closed. */
export async function collect(
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of source) {
    throwIfAborted(signal);
    size += piece.byteLength;
    if (size > maxBytes) throw invalidField("body", `more than ${maxBytes} bytes`, `at most ${maxBytes} bytes`);
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}
