import { DroverError, throwIfAborted } from "@drover/kernel";
import type { Refusal } from "../domain/refusal.ts";

/** Sizes of uploads in bytes. */
export interface UploadLimits {
  /** Of one document. */
  readonly maxBytes: number;
  /** Of all documents that are being received at once. */
  readonly maxBufferedBytes: number;
}

/** Receives an upload whole. */
export type Receive = (
  chunks: AsyncIterable<Uint8Array>,
  signal: AbortSignal,
) => Promise<Uint8Array<ArrayBuffer> | Refusal>;

/**
 * Makes {@link Receive}. It stops reading at the first byte over the limit, which is a refusal;
 * RESOURCE_EXHAUSTED when all uploads together are over theirs.
 */
export function createReceive(limits: UploadLimits): Receive {
  let buffered = 0;
  return async (chunks, signal) => {
    const parts: Uint8Array[] = [];
    let size = 0;
    try {
      for await (const chunk of chunks) {
        throwIfAborted(signal);
        size += chunk.byteLength;
        buffered += chunk.byteLength;
        if (size > limits.maxBytes) return tooLarge(limits.maxBytes);
        if (buffered > limits.maxBufferedBytes) throw busy();
        parts.push(chunk);
      }
      return concatenated(parts, size);
    } finally {
      buffered -= size;
    }
  };
}

function concatenated(parts: readonly Uint8Array[], size: number): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.byteLength;
  }
  return whole;
}

function tooLarge(maxBytes: number): Refusal {
  return { check: "size", found: `more than ${maxBytes} bytes`, allowed: `at most ${maxBytes} bytes` };
}

function busy(): DroverError {
  return new DroverError("RESOURCE_EXHAUSTED", "Too many documents are being received at once; try again.", {
    reason: "UPLOAD_BUFFER_FULL",
    retryAfterMs: 1000,
  });
}
