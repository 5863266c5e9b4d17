export {
  formatTraceparent,
  isSpanId,
  isTraceId,
  newSpanId,
  newTraceContext,
  parseTraceparent,
  type TraceContext,
} from "./context.ts";
export { noopTracer } from "./noop-tracer.ts";
export {
  type AttributeKey,
  type Attributes,
  attr,
  type EventKind,
  eventKinds,
  type SpanKind,
  spanKinds,
} from "./schema.ts";
export type { Span, SpanEnd, SpanEventOptions, SpanStart, Tracer } from "./span.ts";
export { createTracer, type TracerOptions } from "./tracer.ts";
