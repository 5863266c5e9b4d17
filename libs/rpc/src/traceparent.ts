/** Where in a trace a call stands, as in W3C Trace Context. */
export interface TraceContext {
  /** 32 lower-case hex digits. */
  readonly traceId: string;
  /** 16 lower-case hex digits. */
  readonly spanId: string;
}

export const traceparentHeader = "traceparent";

const format = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/;

/** The context in a `traceparent` of version 00; anything else, also all zeros, counts as absent. */
export function parseTraceparent(header: string): TraceContext | undefined {
  const match = format.exec(header);
  const traceId = match?.[1];
  const spanId = match?.[2];
  if (traceId === undefined || spanId === undefined) return undefined;
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined;
  return { traceId, spanId };
}

/** The `traceparent` of a context; every trace of Drover is sampled. */
export function formatTraceparent(trace: TraceContext): string {
  return `00-${trace.traceId}-${trace.spanId}-01`;
}
