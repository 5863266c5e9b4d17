import type { SpanTree } from "./span-tree.ts";
import type { SpanView } from "./span-view.ts";

/** What narrows the list. */
export interface RowFilter {
  /** Part of a name, an error, a kind or an attribute's value; upper and lower case are the same. */
  readonly search: string;
  readonly collapsed: ReadonlySet<string>;
}

/** Indexes into the tree of the rows to show, in order. With a search: what matches, and what leads to it. */
export function visibleRows(tree: SpanTree, filter: RowFilter): Int32Array {
  const wanted = filter.search.trim().toLowerCase();
  if (wanted !== "") return matchingRows(tree, wanted);
  const rows = new Int32Array(tree.spans.length);
  let count = 0;
  for (let index = 0; index < tree.spans.length; ) {
    rows[count++] = index;
    const span = tree.spans[index];
    index = span !== undefined && filter.collapsed.has(span.id) ? (tree.end[index] ?? index + 1) : index + 1;
  }
  return rows.subarray(0, count);
}

/** True when a search finds the span by itself. */
function matches(span: SpanView, wanted: string): boolean {
  const needle = wanted.trim().toLowerCase();
  if (needle === "") return false;
  const texts = [span.name, span.error, span.kind, span.service, ...Object.values(span.attributes)];
  return texts.some((text) => text.toLowerCase().includes(needle));
}

/** Depth a row is drawn at: a round is a divider, so what is in it is not indented for it; at most 20. */
export function drawnDepth(tree: SpanTree, index: number): number {
  let depth = tree.depth[index] ?? 0;
  for (let at = tree.parent[index] ?? -1, steps = 0; at >= 0 && steps < 64; at = tree.parent[at] ?? -1, steps++) {
    if (tree.spans[at]?.kind === "round") depth--;
  }
  return Math.min(depth, 20);
}

function matchingRows(tree: SpanTree, wanted: string): Int32Array {
  const shown = new Uint8Array(tree.spans.length);
  for (const [index, span] of tree.spans.entries()) {
    if (!matches(span, wanted)) continue;
    for (let at = index; at >= 0 && shown[at] === 0; at = tree.parent[at] ?? -1) shown[at] = 1;
  }
  const rows: number[] = [];
  for (const [index, flag] of shown.entries()) if (flag === 1) rows.push(index);
  return Int32Array.from(rows);
}
