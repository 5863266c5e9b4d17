import type { SpanView } from "./span-view.ts";

/** Spans in the order of a walk through the tree, parents before children; arrays share their index. */
export interface SpanTree {
  readonly spans: readonly SpanView[];
  readonly depth: Int32Array;
  /** Index after the last descendant. */
  readonly end: Int32Array;
  /** Index of the parent, -1 for what stands at the top: roots, orphans and broken circles. */
  readonly parent: Int32Array;
  readonly indexOf: ReadonlyMap<string, number>;
}

/**
 * Orders spans by parent, then start, then the producer's sequence, then id, so that rows never swap
 * while a trace is live. A span whose parent is unknown stands at the top until the parent comes; a
 * circle of parents is broken at its earliest span. Iterative, so that depth costs no stack.
 */
export function buildTree(spans: readonly SpanView[]): SpanTree {
  const sorted = [...spans].sort(bySequence);
  const known = new Set(sorted.map(({ id }) => id));
  const children = new Map<string, SpanView[]>();
  const roots: SpanView[] = [];
  for (const span of sorted) {
    if (span.parentId === "" || span.parentId === span.id || !known.has(span.parentId)) roots.push(span);
    else if (children.has(span.parentId)) children.get(span.parentId)?.push(span);
    else children.set(span.parentId, [span]);
  }
  const walk = new Walk(sorted.length, children);
  for (const root of roots) walk.from(root);
  // What no root reaches hangs on a circle.
  if (walk.size < sorted.length) for (const span of sorted) walk.from(span);
  return walk.tree();
}

class Walk {
  readonly #children: ReadonlyMap<string, readonly SpanView[]>;
  readonly #spans: SpanView[] = [];
  readonly #depth: Int32Array;
  readonly #end: Int32Array;
  readonly #parent: Int32Array;
  readonly #indexOf = new Map<string, number>();

  constructor(size: number, children: ReadonlyMap<string, readonly SpanView[]>) {
    this.#children = children;
    this.#depth = new Int32Array(size);
    this.#end = new Int32Array(size);
    this.#parent = new Int32Array(size);
  }

  get size(): number {
    return this.#spans.length;
  }

  from(root: SpanView): void {
    const open: { readonly index: number; readonly children: readonly SpanView[]; next: number }[] = [];
    const enter = (span: SpanView) => {
      if (this.#indexOf.has(span.id)) return;
      const index = this.#spans.push(span) - 1;
      this.#indexOf.set(span.id, index);
      this.#depth[index] = open.length;
      this.#parent[index] = open.at(-1)?.index ?? -1;
      open.push({ index, children: this.#children.get(span.id) ?? [], next: 0 });
    };
    enter(root);
    for (let top = open.at(-1); top !== undefined; top = open.at(-1)) {
      const child = top.children[top.next++];
      if (child !== undefined) enter(child);
      else this.#end[open.pop()?.index ?? 0] = this.#spans.length;
    }
  }

  tree(): SpanTree {
    return {
      spans: this.#spans,
      depth: this.#depth,
      end: this.#end,
      parent: this.#parent,
      indexOf: this.#indexOf,
    };
  }
}

function bySequence(a: SpanView, b: SpanView): number {
  return a.startMs - b.startMs || a.sequence - b.sequence || (a.id < b.id ? -1 : 1);
}
