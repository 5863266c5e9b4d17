import type { SpanView } from "./span-view.ts";

/** The spans of a trace as they came; a newer form replaces an older one, an older one is ignored. */
export class SpanSet {
  readonly #spans = new Map<string, SpanView>();

  get size(): number {
    return this.#spans.size;
  }

  get(id: string): SpanView | undefined {
    return this.#spans.get(id);
  }

  all(): readonly SpanView[] {
    return [...this.#spans.values()];
  }

  /** Takes a piece; true when it said something new. */
  merge(piece: readonly SpanView[]): boolean {
    let changed = false;
    for (const span of piece) {
      const known = this.#spans.get(span.id);
      if (known !== undefined && known.revision >= span.revision) continue;
      this.#spans.set(span.id, span);
      changed = true;
    }
    return changed;
  }
}
