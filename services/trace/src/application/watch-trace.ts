import type { Clock } from "@drover/kernel";
import { isRunning, type TraceKey } from "../domain/trace.ts";
import type { ChangePosition, SpanRow, TraceReader, TraceRow } from "./ports.ts";
import type { RevisionHub } from "./revision-hub.ts";
import { sizeOf } from "./span-size.ts";

/** What a watcher gets: changed spans, or a heartbeat without any. */
export interface TracePiece {
  /** All changes up to this revision were sent. */
  readonly revision: number;
  readonly row: TraceRow | undefined;
  readonly spans: readonly SpanRow[];
}

/** How a watch behaves. */
export interface WatchLimits {
  /** Estimated size of a piece, so that a large trace comes in many messages. */
  readonly pieceBytes: number;
  /** Spans read at once. */
  readonly readSpans: number;
  /** How often the database is asked although no hint came. */
  readonly pollMs: number;
  /** Least time between two pieces of a live trace: many small changes become one message. */
  readonly coalesceMs: number;
  readonly heartbeatMs: number;
  /** A trace in which nothing runs is complete when it did not change for so long. */
  readonly quietMs: number;
}

export const watchLimits: WatchLimits = {
  pieceBytes: 1024 * 1024,
  readSpans: 1_000,
  pollMs: 2_000,
  coalesceMs: 50,
  heartbeatMs: 15_000,
  quietMs: 10_000,
};

/** What watching needs. */
export interface WatchParts {
  readonly reader: TraceReader;
  readonly hub: RevisionHub;
  readonly clock: Clock;
  readonly limits: WatchLimits;
}

/**
 * Changes of a trace after a revision, as they are committed: no gap, and of a span that changed
 * several times at least the newest form. The first piece comes at once. Ends when the trace is
 * complete and quiet; throws UNAVAILABLE when the service drains.
 */
export async function* watchTrace(
  parts: WatchParts,
  key: TraceKey,
  afterRevision: number,
  signal: AbortSignal,
): AsyncGenerator<TracePiece, void, undefined> {
  const { limits, clock } = parts;
  await using interest = parts.hub.watch(key);
  let sent = afterRevision;
  let lastPieceMs = Number.NEGATIVE_INFINITY;
  for (;;) {
    let row: TraceRow | undefined;
    for await (const piece of readPieces(parts, key, sent, signal)) {
      row = piece.row;
      const due = clock.monotonicMs() - lastPieceMs >= limits.heartbeatMs;
      if (piece.spans.length === 0 && piece.revision === sent && !due) continue;
      sent = piece.revision;
      yield piece;
      lastPieceMs = clock.monotonicMs();
    }
    const toGoMs = row === undefined ? Number.POSITIVE_INFINITY : untilComplete(row, limits);
    if (toGoMs <= 0) return;
    await clock.sleep(limits.coalesceMs, signal);
    await interest.newerThan(sent, Math.min(toGoMs, limits.pollMs), signal);
  }
}

/**
 * All that is newer than a revision, in pieces; at least one, which may be empty. The trace is read
 * before its spans, so spans may be newer than the revision that the last piece names: they come again.
 */
async function* readPieces(parts: WatchParts, key: TraceKey, afterRevision: number, signal: AbortSignal) {
  let position: ChangePosition = { revision: afterRevision, spanId: afterAllSpans };
  for (;;) {
    const changes = await parts.reader.changes(key, position, parts.limits.readSpans, signal);
    const { row, spans } = changes;
    const known = row?.trace.revision ?? 0;
    if (known < position.revision) {
      // The trace was deleted and came again: what the watcher knows is of another life.
      position = { revision: 0, spanId: "" };
      continue;
    }
    let from = 0;
    for (const to of cutsOf(spans, parts.limits.pieceBytes)) {
      // Other spans of the last revision may still follow, so one may only resume before it.
      const reached = (spans[to - 1]?.revision ?? position.revision) - 1;
      const last = to === spans.length && changes.last;
      yield { revision: last ? known : Math.min(known, Math.max(0, reached)), row, spans: spans.slice(from, to) };
      from = to;
    }
    const newest = spans.at(-1);
    if (newest !== undefined) position = { revision: newest.revision, spanId: newest.span.spanId };
    if (changes.last) return;
  }
}

/** Greater than every span id, which are hexadecimal. */
const afterAllSpans = "g";

/** Where to cut so that each piece is small; the last cut is the end, also of an empty list. */
function cutsOf(spans: readonly SpanRow[], pieceBytes: number): number[] {
  const cuts: number[] = [];
  let bytes = 0;
  for (const [index, row] of spans.entries()) {
    const size = sizeOf(row);
    if (bytes > 0 && bytes + size > pieceBytes) {
      cuts.push(index);
      bytes = 0;
    }
    bytes += size;
  }
  return [...cuts, spans.length];
}

/** Milliseconds until the trace is complete if nothing more comes; 0 or less when it is. */
function untilComplete(row: TraceRow, limits: WatchLimits): number {
  return isRunning(row.trace) ? Number.POSITIVE_INFINITY : limits.quietMs - row.quietMs;
}
