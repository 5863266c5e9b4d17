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
    const data = joined([first, rest]);
    return { offset: at, data, next: at + data.length, missing: 0, seen };
  }
  const offset = Math.max(at, tailStart);
  const data = tail.slice(offset - tailStart, offset - tailStart + max);
  return { offset, data, next: offset + data.length, missing: offset - at, seen };
}

/**
 * As {@link sliceOf}, but only of lines that match: whole ones, at most `max` bytes of them together; a longer
 * line comes in several pieces. Pieces one after the other are the matching lines of the whole stream, however
 * it was cut: while the stream goes on (`over` is false), a last line that is not whole yet waits for its end.
 * Where the middle was dropped, the lines at both sides of the gap end and begin there.
 */
export function matchingSlice(
  facts: OutputFacts,
  from: number,
  max: number,
  matches: (line: string) => boolean,
  over: boolean,
): OutputSlice {
  const { start, bytes } = partAt(facts, from);
  const at = Math.min(from, facts.head.length + facts.dropped + facts.tail.length);
  const offset = Math.max(at, start);
  const until = over ? Number.POSITIVE_INFINITY : wholeUntil(facts);
  const pieces: Uint8Array[] = [];
  let room = max;
  let next = offset;
  let lineStart = lineStartOf(bytes, offset - start);
  while (room > 0 && next < Math.min(until, start + bytes.length)) {
    const lineEnd = lineEndOf(bytes, next - start);
    const line = decoder.decode(bytes.subarray(lineStart, lineEnd)).replace(/\n$/, "");
    if (matches(line)) {
      const rest = bytes.subarray(next - start, lineEnd);
      if (rest.length > room && pieces.length > 0) break;
      pieces.push(rest.subarray(0, room));
      next += Math.min(rest.length, room);
      room -= rest.length;
    } else {
      next = start + lineEnd;
    }
    lineStart = lineEnd;
  }
  return { offset, data: joined(pieces), next, missing: offset - at, seen: facts.seen };
}

/** Position up to which a stream that goes on consists of whole lines; the gap, where there is one, ends a line. */
export function wholeUntil({ head, tail, dropped }: OutputFacts): number {
  const inTail = tail.lastIndexOf(lineFeed) + 1;
  if (inTail > 0) return head.length + dropped + inTail;
  return dropped > 0 ? head.length : head.lastIndexOf(lineFeed) + 1;
}

const lineFeed = 10;
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** The bytes without a gap that a position lies in, or that come next. */
function partAt({ head, tail, dropped }: OutputFacts, from: number): { start: number; bytes: Uint8Array } {
  if (dropped === 0) return { start: 0, bytes: joined([head, tail]) };
  return from < head.length ? { start: 0, bytes: head } : { start: head.length + dropped, bytes: tail };
}

function lineStartOf(bytes: Uint8Array, at: number): number {
  return at === 0 ? 0 : bytes.lastIndexOf(lineFeed, at - 1) + 1;
}

function lineEndOf(bytes: Uint8Array, at: number): number {
  const end = bytes.indexOf(lineFeed, at);
  return end === -1 ? bytes.length : end + 1;
}

function joined(pieces: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(pieces.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const piece of pieces) {
    all.set(piece, at);
    at += piece.length;
  }
  return all;
}
