import type { Attributes, Span, TraceContext, Tracer } from "@drover/tracing";

/** Under which circumstances a use case runs. */
export interface Call {
  readonly tenant: string;
  readonly signal: AbortSignal;
  /** The span that the caller was in; without one the call is not traced. */
  readonly trace: TraceContext | undefined;
  readonly taskId: string | undefined;
}

/**
 * Runs `work` in a span below the caller's. The span ends with the error's message when `work`
 * rejects. Without a caller's span there is no trace to add to, and `work` gets undefined.
 */
export async function inSpan<T>(
  tracer: Tracer,
  call: Call,
  start: { readonly name: string; readonly attributes: Attributes },
  work: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (call.trace === undefined) return await work(undefined);
  const { tenant, trace: parent, taskId } = call;
  const span = tracer.start({ ...start, kind: "rag", tenant, parent, taskId });
  try {
    const result = await work(span);
    span.end();
    return result;
  } catch (error) {
    span.end({ error: error instanceof Error ? error.message : "failed" });
    throw error;
  }
}
