import type { Span, SpanEnded, SpanPayload, SpanRecord, SpanStarted } from "./span.ts";

/**
 * A span with one more record. The result does not depend on the order of the records nor on repeats:
 * every part is chosen by a total order over its content, so that any two replicas and any redelivery
 * come to the same row. Events and payloads have rows of their own and only make the span known.
 */
export function mergeRecord(span: Span | undefined, record: SpanRecord): Span {
  const base: Span = span ?? { spanId: record.spanId, startNs: record.startNs };
  const startNs = earliest(base.startNs, record.startNs);
  switch (record.kind) {
    case "started":
      return { ...base, startNs, started: greatest(base.started, record.started, compareStarts) };
    case "ended":
      return { ...base, startNs, ended: greatest(base.ended, record.ended, compareEnds) };
    case "forced":
      return { ...base, startNs, forced: greatest(base.forced, record.forced, (a, b) => order(a.endNs, b.endNs)) };
    case "event":
    case "payload":
      return { ...base, startNs };
    default:
      return record satisfies never;
  }
}

/** Of two payloads for one slot the longer one, as it was before cutting. */
export function mergePayload(a: SpanPayload | undefined, b: SpanPayload): SpanPayload {
  return greatest(a, b, (x, y) => order(x.totalCharacters, y.totalCharacters) || order(x.text, y.text));
}

/** True when both say the same, so that nothing needs to be written. */
export function sameSpan(a: Span, b: Span): boolean {
  return canonical(a) === canonical(b);
}

/**
 * The first start counts: a span that another process took up again keeps its first name and place.
 * A start without a parent goes before one with, so that the head of a trace never has to step back.
 */
function compareStarts(a: SpanStarted, b: SpanStarted): number {
  const roots = Number(a.parentSpanId === "") - Number(b.parentSpanId === "");
  return roots || order(b.sequence, a.sequence) || order(canonical(b), canonical(a));
}

/** The last end counts: a process that took the span up again knows more. */
function compareEnds(a: SpanEnded, b: SpanEnded): number {
  return order(a.endNs, b.endNs) || order(canonical(a), canonical(b));
}

function earliest(a: bigint, b: bigint): bigint {
  if (b < a) return b;
  return a;
}

function greatest<T>(a: T | undefined, b: T, compare: (a: T, b: T) => number): T {
  return a === undefined || compare(b, a) > 0 ? b : a;
}

function order<T extends bigint | number | string>(a: T, b: T): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}

/** JSON with sorted keys. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => {
    if (typeof part === "bigint") return part.toString();
    if (part === null || typeof part !== "object" || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([a], [b]) => order(a, b)));
  });
}
