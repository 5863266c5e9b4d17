import type { ClientDuplexStream, Metadata } from "@grpc/grpc-js";
import type { Abortable } from "./stream-flow.ts";

/** What is known of a streaming call as its events come in. */
export class CallState implements Abortable {
  header: Metadata | undefined;
  trailer: Metadata | undefined;
  /** The status that is not OK, kept because it may come before anybody reads. */
  error: Error | undefined;
  /** The first error of our own sending side, which the peer only sees as a cancellation. */
  failure: unknown;
  /** Resolves when headers have come or the call has ended. */
  readonly opened: Promise<void>;
  readonly #call: ClientDuplexStream<Buffer, Buffer>;
  readonly #onEnd = new Set<() => void>();
  #ended = false;

  constructor(call: ClientDuplexStream<Buffer, Buffer>, signal: AbortSignal | undefined, release: () => void) {
    this.#call = call;
    const opened = Promise.withResolvers<void>();
    this.opened = opened.promise;
    const cancel = () => call.cancel();
    signal?.addEventListener("abort", cancel, { once: true });
    call.on("metadata", (header: Metadata) => {
      this.header = header;
      opened.resolve();
    });
    call.on("status", (status: { readonly metadata?: Metadata }) => {
      this.trailer = status.metadata;
      this.#ended = true;
      signal?.removeEventListener("abort", cancel);
      for (const listener of this.#onEnd) listener();
      this.#onEnd.clear();
      release();
      opened.resolve();
    });
    call.on("error", (error: Error) => {
      this.error = error;
      opened.resolve();
    });
  }

  get abortReason(): unknown {
    return this.#ended ? "ended" : this.failure;
  }

  onAbort(listener: () => void): () => void {
    if (this.#ended) listener();
    else this.#onEnd.add(listener);
    return () => this.#onEnd.delete(listener);
  }

  /** Ends the call because what it should have sent could not be made. */
  fail(error: unknown): void {
    this.failure ??= error;
    this.#call.cancel();
  }
}
