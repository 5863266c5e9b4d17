import type { SpanView } from "./span-view.ts";

/** The stretch of time that lanes show, in milliseconds since the epoch. */
export interface TimeScale {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Where something stands in a lane, in percent of its width. */
export interface LanePlace {
  readonly left: number;
  readonly width: number;
}

/** Bars are at least this wide, so that the shortest span can be seen. */
const leastPercent = 0.4;

/** From the first start to the last end; while something runs, to `nowMs`. Never empty. */
export function scaleOf(spans: readonly SpanView[], nowMs: number): TimeScale {
  let fromMs = Number.POSITIVE_INFINITY;
  let toMs = Number.NEGATIVE_INFINITY;
  for (const span of spans) {
    fromMs = Math.min(fromMs, span.startMs);
    toMs = Math.max(toMs, span.endMs ?? nowMs, span.startMs);
  }
  if (fromMs > toMs) return { fromMs: nowMs, toMs: nowMs + 1 };
  return { fromMs, toMs: Math.max(toMs, fromMs + 0.001) };
}

/** Where a span's bar stands; undefined outside the stretch. One that ended before it began (two clocks) is a point. */
export function placeOf(scale: TimeScale, startMs: number, endMs: number): LanePlace | undefined {
  if (startMs > scale.toMs || Math.max(startMs, endMs) < scale.fromMs) return undefined;
  const start = clamp(percentOf(scale, startMs));
  const end = Math.max(start, clamp(percentOf(scale, endMs)));
  const width = Math.max(leastPercent, end - start);
  return { left: Math.min(start, 100 - width), width };
}

/** Where an instant stands, in percent. */
export function percentOf(scale: TimeScale, atMs: number): number {
  return ((atMs - scale.fromMs) / (scale.toMs - scale.fromMs)) * 100;
}

/** Milliseconds covered by at least one interval. */
export function unionMs(intervals: readonly (readonly [number, number])[]): number {
  const sorted = [...intervals].sort(([a], [b]) => a - b);
  let covered = 0;
  let reached = Number.NEGATIVE_INFINITY;
  for (const [start, end] of sorted) {
    const from = Math.max(start, reached);
    if (end > from) covered += end - from;
    reached = Math.max(reached, end);
  }
  return covered;
}

function clamp(percent: number): number {
  return Math.min(100, Math.max(0, percent));
}
