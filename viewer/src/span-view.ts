import { type Span, SpanState } from "@drover/proto/trace/v1/trace";

/** A point within a span; times are milliseconds since the epoch, with a fraction. */
export interface EventView {
  readonly ordinal: number;
  readonly timeMs: number;
  readonly kind: string;
  readonly text: string;
  readonly attributes: Readonly<Record<string, string>>;
}

/** A span as the page knows it. */
export interface SpanView {
  readonly id: string;
  /** Empty for a root. */
  readonly parentId: string;
  readonly name: string;
  readonly kind: string;
  readonly service: string;
  /** Its start has not arrived yet. */
  readonly placeholder: boolean;
  /** Closed by the service because its process was lost. */
  readonly forced: boolean;
  readonly startMs: number;
  /** Undefined while it runs. */
  readonly endMs: number | undefined;
  /** Empty means success. */
  readonly error: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly events: readonly EventView[];
  readonly sequence: number;
  readonly revision: number;
}

/** A span of the wire as the page uses it. */
export function spanViewOf(span: Span): SpanView {
  return {
    id: span.spanId,
    parentId: span.parentSpanId,
    name: span.name === "" ? "not started yet" : span.name,
    kind: span.kind,
    service: span.service,
    placeholder: span.state === SpanState.PLACEHOLDER,
    forced: span.state === SpanState.FORCED,
    startMs: millisecondsOf(span.startNs),
    endMs: span.endNs === 0n ? undefined : millisecondsOf(span.endNs),
    error: span.error,
    attributes: span.attributes,
    events: span.events.map((event) => ({
      ordinal: Number(event.ordinal),
      timeMs: millisecondsOf(event.timeNs),
      kind: event.kind,
      text: event.text,
      attributes: event.attributes,
    })),
    sequence: Number(span.sequence),
    revision: Number(span.revision),
  };
}

/** Nanoseconds as milliseconds; a double holds today's to a quarter of a microsecond. */
export function millisecondsOf(ns: bigint): number {
  return Number(ns / 1_000n) / 1_000;
}
