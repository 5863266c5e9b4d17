import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type ContextValues, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { parseTraceparent, type TraceContext } from "@drover/tracing";
import type { Metadata } from "@grpc/grpc-js";
import { type Caller, callerKey, traceKey, traceparentHeader } from "./caller.ts";
import { headersFrom } from "./metadata.ts";

/**
 * The context of one rpc. What few handlers ask for (headers, the signal, values) is made when it is
 * asked for: a call that does not, pays nothing.
 */
export class RpcContext implements HandlerContext {
  readonly method: DescMethod;
  readonly service: DescService;
  readonly requestMethod = "POST";
  readonly protocolName = "grpc";
  readonly url: string;
  readonly trace: TraceContext | undefined;
  /** Set by the server once the identity is verified, before the handler runs. */
  caller: Caller | undefined;
  readonly #metadata: Metadata;
  readonly #deadlineMs: number;
  readonly #onAbort = new Set<(reason: DroverError) => void>();
  #abortReason: DroverError | undefined;
  #controller: AbortController | undefined;
  #requestHeader: Headers | undefined;
  #responseHeader: Headers | undefined;
  #responseTrailer: Headers | undefined;
  #values: ContextValues | undefined;

  /** `deadlineMs` is wall-clock time, Infinity where there is none. */
  constructor(method: DescMethod, url: string, metadata: Metadata, deadlineMs: number) {
    this.method = method;
    this.service = method.parent;
    this.url = url;
    this.#metadata = metadata;
    this.#deadlineMs = deadlineMs;
    const traceparent = metadata.get(traceparentHeader)[0];
    this.trace = typeof traceparent === "string" ? parseTraceparent(traceparent) : undefined;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#abortReason !== undefined) this.#controller.abort(this.#abortReason);
    }
    return this.#controller.signal;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= headersFrom(this.#metadata);
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.#responseHeader ??= new Headers();
    return this.#responseHeader;
  }

  get responseTrailer(): Headers {
    this.#responseTrailer ??= new Headers();
    return this.#responseTrailer;
  }

  get values(): ContextValues {
    this.#values ??= createContextValues().set(callerKey, this.caller).set(traceKey, this.trace);
    return this.#values;
  }

  readonly timeoutMs = (): number | undefined =>
    this.#deadlineMs === Number.POSITIVE_INFINITY ? undefined : Math.max(0, this.#deadlineMs - Date.now());

  /** The response's headers where the handler set any; asking does not make them. */
  get sentHeader(): Headers | undefined {
    return this.#responseHeader;
  }

  /** Likewise the trailers. */
  get sentTrailer(): Headers | undefined {
    return this.#responseTrailer;
  }

  /** Why the call was aborted, once it was. */
  get abortReason(): DroverError | undefined {
    return this.#abortReason;
  }

  /** Calls `listener` when the call aborts, at once where it has; the result takes it off again. */
  onAbort(listener: (reason: DroverError) => void): () => void {
    if (this.#abortReason !== undefined) listener(this.#abortReason);
    else this.#onAbort.add(listener);
    return () => this.#onAbort.delete(listener);
  }

  /** Aborts the signal with `reason`; only the first time counts. */
  abort(reason: DroverError): void {
    if (this.#abortReason !== undefined) return;
    this.#abortReason = reason;
    for (const listener of this.#onAbort) listener(reason);
    this.#onAbort.clear();
    this.#controller?.abort(reason);
  }

  /** After the end of the call: what was started under its signal and still runs, is told to stop. */
  finish(): void {
    this.#onAbort.clear();
    if (this.#controller === undefined || this.#abortReason !== undefined) return;
    this.#abortReason = new DroverError("CANCELLED", "The call has ended.");
    this.#controller.abort(this.#abortReason);
  }

  /** Why a peer went away: its deadline, where that has passed, else a cancellation. */
  cancelled(): DroverError {
    return Date.now() >= this.#deadlineMs
      ? new DroverError("DEADLINE_EXCEEDED", "The deadline was exceeded.")
      : new DroverError("CANCELLED", "The call was cancelled.");
  }
}
