import { randomBytes } from "@drover/kernel";

/** Which span of which trace: what travels between services. */
export interface TraceContext {
  /** 32 lower-case hexadecimal digits, not all zero. */
  readonly traceId: string;
  /** 16 lower-case hexadecimal digits, not all zero. */
  readonly spanId: string;
}

const traceparent = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}(-.*)?$/;

/**
 * The context in a `traceparent` header (W3C Trace Context, section 3.2), or undefined for anything
 * that the recommendation calls invalid: a bad header starts a new trace, it never fails a call.
 */
export function parseTraceparent(header: string): TraceContext | undefined {
  const match = traceparent.exec(header.trim());
  if (match === null) return undefined;
  const [, version, traceId = "", spanId = "", rest] = match;
  if (version === "ff" || (version === "00" && rest !== undefined)) return undefined;
  return isTraceId(traceId) && isSpanId(spanId) ? { traceId, spanId } : undefined;
}

/** The `traceparent` header of a context; always marked as sampled, since every trace is kept. */
export function formatTraceparent(context: TraceContext): string {
  return `00-${context.traceId}-${context.spanId}-01`;
}

/** A context of a new trace, for the root span of a task or a call that came without one. */
export function newTraceContext(): TraceContext {
  return { traceId: randomHex(16), spanId: newSpanId() };
}

/** 16 random hexadecimal digits, not all zero. */
export function newSpanId(): string {
  return randomHex(8);
}

/** True for 32 lower-case hexadecimal digits that are not all zero. */
export function isTraceId(text: string): boolean {
  return /^[0-9a-f]{32}$/.test(text) && !/^0+$/.test(text);
}

/** True for 16 lower-case hexadecimal digits that are not all zero. */
export function isSpanId(text: string): boolean {
  return /^[0-9a-f]{16}$/.test(text) && !/^0+$/.test(text);
}

function randomHex(bytes: number): string {
  const random = randomBytes(bytes);
  if (random.every((byte) => byte === 0)) random[0] = 1;
  return Array.from(random, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
