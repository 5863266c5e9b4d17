import { DroverError } from "@drover/kernel";

/** Bounds of a response body. */
export interface BodyBounds {
  readonly host: string;
  /** Bytes after decompression. */
  readonly maxBytes: number;
  /** Longest silence between two pieces. */
  readonly idleMs: number;
}

/**
 * The body, ended with RESOURCE_EXHAUSTED when it grows over the cap and with DEADLINE_EXCEEDED when it
 * falls silent; either way the source is cancelled. It is read only as fast as it is consumed.
 */
export function cappedBody(source: ReadableStream<Uint8Array>, bounds: BodyBounds): ReadableStream<Uint8Array> {
  const reader = source.getReader();
  let seen = 0;
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const piece = await readWithin(reader, bounds);
        if (piece.done) return controller.close();
        seen += piece.value.byteLength;
        if (seen > bounds.maxBytes) {
          const error = tooLarge(bounds);
          await reader.cancel(error).catch(() => {});
          throw error;
        }
        controller.enqueue(piece.value);
      },
      cancel: (reason) => reader.cancel(reason),
    },
    { highWaterMark: 0 },
  );
}

/** The error for an answer over the cap. */
export function tooLarge(bounds: BodyBounds): DroverError {
  return new DroverError(
    "RESOURCE_EXHAUSTED",
    `The answer of ${bounds.host} is larger than ${bounds.maxBytes} bytes.`,
    {
      reason: "EGRESS_RESPONSE_TOO_LARGE",
      retryable: false,
    },
  );
}

async function readWithin(reader: ReadableStreamDefaultReader<Uint8Array>, bounds: BodyBounds) {
  let timer: NodeJS.Timeout | undefined;
  const silence = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      const error = new DroverError("DEADLINE_EXCEEDED", `${bounds.host} sent nothing for ${bounds.idleMs} ms.`, {
        reason: "EGRESS_TIMEOUT",
      });
      // Before the cancel, which ends the pending read as if the body were complete.
      reject(error);
      reader.cancel(error).catch(() => {});
    }, bounds.idleMs);
  });
  try {
    return await Promise.race([reader.read(), silence]);
  } finally {
    clearTimeout(timer);
  }
}
