/** How far a span is known; the greater state wins, whatever order records come in. */
export const spanStates = { placeholder: 1, started: 2, forced: 3, ended: 4 } as const;

/** One of {@link spanStates}. */
export type SpanState = (typeof spanStates)[keyof typeof spanStates];

/** Text attributes of a span or an event. */
export type Attributes = Readonly<Record<string, string>>;

/** What the start of a span says. */
export interface SpanStarted {
  /** Empty for a root. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: string;
  readonly service: string;
  readonly taskId: string;
  readonly attributes: Attributes;
  /** Where the producer's start stands among its others, for spans that started in the same instant. */
  readonly sequence: number;
}

/** What the end of a span says. */
export interface SpanEnded {
  readonly endNs: bigint;
  /** Empty means success. */
  readonly error: string;
  readonly attributes: Attributes;
}

/** An end that the service gave because nobody vouched for the span any more. */
interface SpanForced {
  readonly endNs: bigint;
  readonly reason: string;
}

/** A span as it is stored. Each part is absent until a record brought it. */
export interface Span {
  readonly spanId: string;
  /** Nanoseconds since the epoch. */
  readonly startNs: bigint;
  readonly started?: SpanStarted;
  readonly forced?: SpanForced;
  readonly ended?: SpanEnded;
}

/** A point within a span. */
export interface SpanEvent {
  readonly ordinal: number;
  readonly timeNs: bigint;
  readonly kind: string;
  readonly text: string;
  readonly attributes: Attributes;
}

/** Input or output of a span. */
export interface SpanPayload {
  readonly slot: string;
  readonly text: string;
  readonly totalCharacters: number;
}

/** One record of a span; each carries the span's start, so that it can be stored alone. */
export type SpanRecord = { readonly spanId: string; readonly startNs: bigint } & (
  | { readonly kind: "started"; readonly started: SpanStarted }
  | { readonly kind: "event"; readonly event: SpanEvent }
  | { readonly kind: "payload"; readonly payload: SpanPayload }
  | { readonly kind: "forced"; readonly forced: SpanForced }
  | { readonly kind: "ended"; readonly ended: SpanEnded }
);

/** How far the span is known. */
export function stateOf(span: Span): SpanState {
  if (span.ended !== undefined) return spanStates.ended;
  if (span.forced !== undefined) return spanStates.forced;
  return span.started === undefined ? spanStates.placeholder : spanStates.started;
}

/** True while an end is still awaited. */
export function isOpen(span: Span): boolean {
  return stateOf(span) < spanStates.forced;
}

/** Attributes of the start with those of the end over them. */
export function attributesOf(span: Span): Attributes {
  return { ...span.started?.attributes, ...span.ended?.attributes };
}

/** End in nanoseconds, undefined while the span is open. */
export function endOf(span: Span): bigint | undefined {
  return span.ended?.endNs ?? span.forced?.endNs;
}

/** Why the span did not succeed; empty for success. */
export function errorOf(span: Span): string {
  return span.ended === undefined ? (span.forced?.reason ?? "") : span.ended.error;
}
