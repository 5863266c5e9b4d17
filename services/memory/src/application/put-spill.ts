import { DroverError, headOf, invalidField, storableText, throwIfAborted } from "@drover/kernel";
import { requireToken, spillPointer } from "../domain/spill-pointer.ts";
import type { Call } from "./call.ts";
import { hashText } from "./content-hash.ts";
import type { SpillStore } from "./ports.ts";

/** Sizes of {@link PutSpill}. */
export interface SpillLimits {
  /** Of one body. */
  readonly maxBytes: number;
  /** Of all bodies that are being received at once. */
  readonly maxBufferedBytes: number;
  readonly previewCharacters: number;
}

/** Where a body is now. */
interface PlacedSpill {
  readonly pointer: string;
  readonly sizeBytes: number;
  readonly characters: number;
  readonly preview: string;
}

/** Stores a body that arrives in pieces of UTF-8; see the rpc of the same name for the contract. */
export type PutSpill = (
  call: Call,
  target: { readonly conversationId: string; readonly callId: string },
  chunks: AsyncIterable<Uint8Array>,
) => Promise<PlacedSpill>;

/**
 * Makes {@link PutSpill}. A body is received whole before the transaction begins, because a slow
 * caller must not hold one open; what all callers together may have in memory is bounded.
 */
export function createPutSpill(store: SpillStore, limits: SpillLimits): PutSpill {
  const buffer = { bytes: 0 };
  return async ({ owner, signal }, target, chunks) => {
    const conversationId = requireToken("header.conversation_id", target.conversationId);
    const callId = requireToken("header.call_id", target.callId);
    const text = storableText(await receive(chunks, buffer, limits, signal));
    const sizeBytes = new TextEncoder().encode(text).byteLength;
    const spill = { callId, text, sizeBytes, contentHash: await hashText(text) };
    const stored = await store.put(owner, conversationId, spill, signal);
    return {
      pointer: spillPointer(conversationId, callId),
      ...stored,
      preview: headOf(text, limits.previewCharacters),
    };
  };
}

async function receive(
  chunks: AsyncIterable<Uint8Array>,
  buffer: { bytes: number },
  limits: SpillLimits,
  signal: AbortSignal,
): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  const pieces: string[] = [];
  let received = 0;
  try {
    for await (const chunk of chunks) {
      throwIfAborted(signal);
      received += chunk.byteLength;
      buffer.bytes += chunk.byteLength;
      checkSizes(received, buffer.bytes, limits);
      pieces.push(decodePiece(decoder, chunk));
    }
    pieces.push(decodePiece(decoder, undefined));
    return pieces.join("");
  } finally {
    buffer.bytes -= received;
  }
}

function checkSizes(received: number, buffered: number, limits: SpillLimits): void {
  if (received > limits.maxBytes) {
    throw new DroverError("RESOURCE_EXHAUSTED", `chunk: found more than ${limits.maxBytes} bytes, which is the most.`, {
      reason: "SPILL_TOO_LARGE",
      retryable: false,
      metadata: { max_bytes: String(limits.maxBytes) },
    });
  }
  if (buffered > limits.maxBufferedBytes) {
    throw new DroverError("RESOURCE_EXHAUSTED", "Too many large bodies are being received at once; try again.", {
      reason: "SPILL_BUFFER_FULL",
      retryAfterMs: 500,
    });
  }
}

/** Decodes the next piece; without one, ends the text. */
function decodePiece(decoder: InstanceType<typeof TextDecoder>, chunk: Uint8Array | undefined): string {
  try {
    return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
  } catch {
    throw invalidField("chunk", "bytes that are not UTF-8", "UTF-8 text");
  }
}
