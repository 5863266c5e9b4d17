import type { DescMethod } from "@bufbuild/protobuf";
import { DroverError } from "@drover/kernel";
import type { Metadata } from "@grpc/grpc-js";
import type { Caller } from "./caller.ts";
import { pathOf } from "./codec.ts";
import { droverErrorFrom } from "./error-mapping.ts";
import type { CallObserver } from "./observation.ts";
import { RpcContext } from "./rpc-context.ts";

/** What all four kinds of grpc-js calls have in common. */
export interface ServerCall {
  readonly metadata: Metadata;
  on(event: "cancelled", listener: () => void): unknown;
}

/** The calls that run, so that a drain can wait for them and end the streams. */
export interface ActiveCalls {
  add(context: RpcContext, kind: "unary" | "stream"): void;
  remove(context: RpcContext): void;
}

/** What one method's calls go through. */
export interface MethodRunner {
  readonly method: DescMethod;
  readonly admit: (metadata: Metadata) => Caller | Promise<Caller>;
  readonly observe: CallObserver;
  readonly active: ActiveCalls;
}

/**
 * Runs one call: admits it, runs `work` unless its deadline has passed by then, and tells `fail` of the
 * error, if any, exactly once and at once when the call is aborted, whatever the handler does with its
 * signal; a peer that has gone is told nothing. Never rejects.
 */
export async function runCall(
  runner: MethodRunner,
  call: ServerCall,
  kind: "unary" | "stream",
  deadlineMs: number,
  work: (context: RpcContext) => Promise<void>,
  fail: (error: DroverError) => void,
): Promise<void> {
  const startedMs = performance.now();
  const context = new RpcContext(runner.method, pathOf(runner.method), call.metadata, deadlineMs);
  let ended = false;
  let gone = false;
  const end = (error: DroverError | undefined) => {
    if (ended) return;
    ended = true;
    if (error !== undefined && !gone) fail(error);
    runner.active.remove(context);
    runner.observe(context, startedMs, error);
    if (error === undefined || context.abortReason === undefined) context.finish();
  };
  runner.active.add(context, kind);
  context.onAbort(end);
  call.on("cancelled", () => {
    gone = true;
    if (!ended) context.abort(context.cancelled());
  });
  try {
    const caller = runner.admit(call.metadata);
    context.caller = caller instanceof Promise ? await caller : caller;
    if (context.timeoutMs() === 0) throw deadlineExceeded();
    if (context.abortReason === undefined) await work(context);
    end(undefined);
  } catch (error) {
    end(context.abortReason ?? droverErrorFrom(error));
  }
}

/** Runs `onDeadline` when a deadline of our own passes; the result stops the timer. */
export function deadlineTimer(context: RpcContext, ms: number): () => void {
  const timer = setTimeout(() => context.abort(deadlineExceeded()), ms);
  return () => clearTimeout(timer);
}

function deadlineExceeded(): DroverError {
  return new DroverError("DEADLINE_EXCEEDED", "The deadline was exceeded.");
}
