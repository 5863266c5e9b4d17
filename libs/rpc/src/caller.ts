import { type ContextValues, createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { TraceContext } from "@drover/tracing";

/** On whose behalf a call is made; comes from a verified identity only, never from a request's body. */
export interface Caller {
  readonly tenant: string;
  /** The person or key within the tenant. */
  readonly subject: string;
  readonly scopes: readonly string[];
  /** The task that the call is part of, where there is one. */
  readonly taskId?: string;
}

/** Name of the metadata entry that carries the trace (W3C Trace Context). */
export const traceparentHeader = "traceparent";

export const callerKey = createContextKey<Caller | undefined>(undefined, { description: "drover caller" });
export const traceKey = createContextKey<TraceContext | undefined>(undefined, { description: "drover trace" });

/** The caller of an rpc. Throws UNAUTHENTICATED where there is none, which the server rules out. */
export function callerOf(context: Pick<HandlerContext, "values">): Caller {
  const caller = context.values.get(callerKey);
  if (caller === undefined) throw new DroverError("UNAUTHENTICATED", "The call carries no identity.");
  return caller;
}

/** The span that the caller was in, from a well-formed `traceparent`. */
export function traceOf(context: Pick<HandlerContext, "values">): TraceContext | undefined {
  return context.values.get(traceKey);
}

/** Context values for an outgoing call on behalf of `caller`, as a child of the span `trace`. */
export function actingAs(caller: Caller, trace?: TraceContext): ContextValues {
  return createContextValues().set(callerKey, caller).set(traceKey, trace);
}
