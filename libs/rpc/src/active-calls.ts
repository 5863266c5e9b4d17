import { DroverError } from "@drover/kernel";
import type { ActiveCalls } from "./call-runner.ts";
import type { RpcContext } from "./rpc-context.ts";

/** The calls of one server, and how a drain ends them. */
export class CallSet implements ActiveCalls {
  readonly #calls = new Map<RpcContext, "unary" | "stream">();
  #whenEmpty: (() => void) | undefined;

  get size(): number {
    return this.#calls.size;
  }

  add(context: RpcContext, kind: "unary" | "stream"): void {
    this.#calls.set(context, kind);
  }

  remove(context: RpcContext): void {
    this.#calls.delete(context);
    if (this.#calls.size === 0) this.#whenEmpty?.();
  }

  /** Ends all streams, or all calls, with UNAVAILABLE, which tells a client to resume elsewhere. */
  endWithUnavailable(which: "streams" | "all"): void {
    for (const [context, kind] of [...this.#calls]) {
      if (which === "all" || kind === "stream") {
        context.abort(new DroverError("UNAVAILABLE", "The server is stopping.", { reason: "SERVER_STOPPING" }));
      }
    }
  }

  /** Resolves when no call runs. */
  empty(): Promise<void> {
    if (this.#calls.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#whenEmpty = resolve;
    });
  }
}
