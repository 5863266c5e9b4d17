/** Where a range of a text really lies. */
export interface ResolvedRange {
  readonly start: number;
  /** Exclusive. */
  readonly end: number;
}

/**
 * The range of at most `length` units from `offset` on within a text of `total` units; a negative
 * offset counts from the end. What lies outside is cut off, so that the result may be empty.
 */
export function resolveRange(offset: number, length: number, total: number): ResolvedRange {
  const start = Math.min(total, offset < 0 ? Math.max(0, total + offset) : offset);
  return { start, end: Math.min(total, start + length) };
}

/** How far the text reaches into a surrogate pair at its two ends: units to leave out at each. */
export function tornEnds(text: string): { readonly before: number; readonly after: number } {
  const first = text.charCodeAt(0);
  const last = text.charCodeAt(text.length - 1);
  return {
    before: first >= 0xdc00 && first <= 0xdfff ? 1 : 0,
    after: last >= 0xd800 && last <= 0xdbff ? 1 : 0,
  };
}
