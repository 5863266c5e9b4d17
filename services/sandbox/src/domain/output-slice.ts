import type { OutputFacts } from "./output-cap.ts";

/** A piece of a stream; see the fields of OutputChunk in the proto. */
export interface OutputSlice {
  readonly offset: number;
  readonly data: Uint8Array;
  readonly next: number;
  readonly missing: number;
  readonly seen: number;
}

/**
 * At most `max` bytes from a position of the stream. The same position gives the same bytes while they
 * are kept. In the gap between head and tail it is the tail's begin, with what is missing before it;
 * ahead of the stream it is its end.
 */
export function sliceOf(facts: OutputFacts, from: number, max: number): OutputSlice {
  const { head, tail, dropped, seen } = facts;
  const tailStart = head.length + dropped;
  const end = tailStart + tail.length;
  const at = Math.min(from, end);
  if (at < head.length) {
    const first = head.subarray(at, at + max);
    const rest = dropped === 0 ? tail.subarray(0, max - first.length) : tail.subarray(0, 0);
    const data = new Uint8Array(first.length + rest.length);
    data.set(first);
    data.set(rest, first.length);
    return { offset: at, data, next: at + data.length, missing: 0, seen };
  }
  const offset = Math.max(at, tailStart);
  const data = tail.slice(offset - tailStart, offset - tailStart + max);
  return { offset, data, next: offset + data.length, missing: offset - at, seen };
}

/**
 * Only the lines that match. While the stream goes on, a last line that is not whole is left for the
 * next piece, unless it is the only one.
 */
export function filtered(slice: OutputSlice, matches: (line: string) => boolean, over: boolean): OutputSlice {
  const lineEnd = slice.data.lastIndexOf(10) + 1;
  const length = over || lineEnd === 0 ? slice.data.length : lineEnd;
  const text = new TextDecoder().decode(slice.data.subarray(0, length));
  const kept = (text.match(/[^\n]*\n|[^\n]+$/g) ?? []).filter((line) => matches(line.replace(/\n$/, "")));
  return { ...slice, data: new TextEncoder().encode(kept.join("")), next: slice.offset + length };
}
