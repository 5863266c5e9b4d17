import { newSpanId, newTraceContext } from "./context.ts";
import type { Tracer } from "./span.ts";

/** A tracer that records nothing; contexts still form a chain, so that propagation can be tested. */
export const noopTracer: Tracer = {
  start: ({ parent, identity, startedAt }) => ({
    context: identity ?? (parent === undefined ? newTraceContext() : { traceId: parent.traceId, spanId: newSpanId() }),
    startedAt: startedAt ?? new Date(),
    event: () => undefined,
    payload: () => undefined,
    set: () => undefined,
    end: () => undefined,
    release: () => undefined,
  }),
  flush: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};
