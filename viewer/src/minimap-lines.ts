import type { SpanTree } from "./span-tree.ts";
import { percentOf, type TimeScale } from "./time-scale.ts";

/** A line of the minimap, in pixels. */
export interface MinimapLine {
  readonly x: number;
  readonly width: number;
  readonly y: number;
  readonly kind: string;
}

/**
 * The whole trace in `width` × `height` pixels, a line for each span. Lines that would fall on the
 * same pixels with the same kind are left out, so that 50,000 spans come to a few thousand.
 */
export function minimapLines(tree: SpanTree, scale: TimeScale, size: { width: number; height: number }): MinimapLine[] {
  const lines: MinimapLine[] = [];
  const drawn = new Set<string>();
  const lanes = Math.max(1, Math.floor((size.height - 4) / 2));
  const perLane = Math.max(1, tree.spans.length / lanes);
  for (const [index, span] of tree.spans.entries()) {
    if (span.kind === "round") continue;
    const x = Math.round((percentOf(scale, span.startMs) / 100) * size.width);
    const end = Math.round((percentOf(scale, span.endMs ?? scale.toMs) / 100) * size.width);
    const width = Math.max(2, end - x);
    const y = 1 + Math.floor(index / perLane) * 2;
    const kind = span.error === "" ? span.kind : "error";
    const key = `${x}/${width}/${y}/${kind}`;
    if (drawn.has(key)) continue;
    drawn.add(key);
    lines.push({ x, width, y, kind });
  }
  return lines;
}
