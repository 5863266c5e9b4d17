import type { Readable } from "node:stream";

/** The reading side of a call. */
export type ObjectReader = Pick<Readable, "iterator">;

/** The writing side of a call: `write` answers false when it is time to wait for `drain`. */
export interface MessageWriter {
  write(bytes: Buffer): boolean;
  once(event: "drain", listener: () => void): unknown;
  off(event: "drain", listener: () => void): unknown;
}

/** Where a writer learns that the call has ended; the result of `onAbort` takes the listener off. */
export interface Abortable {
  readonly abortReason: unknown;
  onAbort(listener: () => void): () => void;
}

/** The messages of a call; leaving the loop early leaves the other direction of the call open. */
export function readAll(call: ObjectReader): AsyncIterable<unknown> {
  return call.iterator({ destroyOnReturn: false });
}

/**
 * Writes what `messages` yields, one at a time and no faster than the peer reads. When the call ends the
 * iteration is closed, without waiting for an iterator that does not heed its signal.
 */
export async function writeAll(
  messages: AsyncIterable<unknown>,
  call: MessageWriter,
  state: Abortable,
  encode: (message: unknown) => Buffer,
): Promise<void> {
  const iterator = messages[Symbol.asyncIterator]();
  const close = () => {
    iterator.return?.()?.then(undefined, () => {
      // What a closed iterator still throws has nobody left to go to.
    });
  };
  const off = state.onAbort(close);
  try {
    for (;;) {
      const next = await iterator.next();
      if (next.done === true || state.abortReason !== undefined) return;
      if (!call.write(encode(next.value))) await drained(call, state);
      if (state.abortReason !== undefined) return;
    }
  } catch (error) {
    close();
    throw error;
  } finally {
    off();
  }
}

/** Resolves when the call takes more, or has ended. */
function drained(call: MessageWriter, state: Abortable): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      off();
      call.off("drain", done);
      resolve();
    };
    let off = () => {
      // Replaced below; a call that has ended resolves before that.
    };
    call.once("drain", done);
    off = state.onAbort(done);
  });
}
