/** Where a range of a text lies, in UTF-16 units. */
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

/**
 * The part of a range that holds no half of a surrogate pair. `text` is what the range holds and, where
 * there is one, the unit behind it. A half at the start is left out; a half at the end is left for
 * the next range, except that a range of one unit takes the whole pair, so that reading always goes on.
 */
export function wholeCharacters(text: string, range: ResolvedRange): { readonly text: string; readonly start: number } {
  const asked = text.slice(0, range.end - range.start);
  const before = isLow(asked.charCodeAt(0)) ? 1 : 0;
  const torn = isHigh(asked.charCodeAt(asked.length - 1)) && isLow(text.charCodeAt(asked.length));
  const end = torn ? (asked.length - before > 1 ? asked.length - 1 : asked.length + 1) : asked.length;
  return { text: text.slice(before, end), start: range.start + before };
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}
