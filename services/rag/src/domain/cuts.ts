import type { Span } from "./block.ts";

/**
 * Where a sentence may end: with its marks, closing quotes and the white space after it. Every run of
 * marks is one match, so that the search is linear also in a text of nothing but dots.
 */
const ending = /(?<wide>[。！？；…]+[」』”’）】》]*\s*)|[.!?]+["')\]”’]*(?<space>\s*)|(?<gap>\n\s*\n\s*)/gu;
const lowerCase = /\p{Ll}/u;
const line = /[^\n]*\n+|[^\n]+$/g;
const grapheme = new Intl.Segmenter("und", { granularity: "grapheme" });
/** Units looked at for white space on either side of a cut. */
const spaceWindow = 2000;
/** Units looked at for a grapheme boundary around a cut. */
const graphemeWindow = 64;

/** The sentences of a span, which together are the span; an end mark before a small letter ends none. */
export function sentencesOf(source: string, span: Span): Span[] {
  const text = source.slice(span.start, span.end);
  const sentences: Span[] = [];
  let start = span.start;
  for (const match of text.matchAll(ending)) {
    const end = span.start + match.index + match[0].length;
    const ascii = match.groups?.space !== undefined;
    if (ascii && (match.groups?.space === "" || lowerCase.test(source.slice(end, end + 1)))) continue;
    if (end >= span.end) break;
    sentences.push({ start, end });
    start = end;
  }
  if (start < span.end) sentences.push({ start, end: span.end });
  return sentences;
}

/** The lines of a span with their ends, which together are the span. */
export function linesOf(source: string, span: Span): Span[] {
  return Array.from(source.slice(span.start, span.end).matchAll(line), (match) => ({
    start: span.start + match.index,
    end: span.start + match.index + match[0].length,
  }));
}

/**
 * Cuts a span that has no better place to cut: near its middle behind white space, else between
 * graphemes, never inside a surrogate pair. A span of one code point is not cut.
 */
export function halve(source: string, span: Span): readonly [Span] | readonly [Span, Span] {
  const middle = span.start + Math.floor((span.end - span.start) / 2);
  const at = spaceNear(source, span, middle) ?? graphemeNear(source, span, middle);
  if (at <= span.start || at >= span.end) return [span];
  return [
    { start: span.start, end: at },
    { start: at, end: span.end },
  ];
}

function spaceNear(source: string, span: Span, middle: number): number | undefined {
  const reach = Math.min(spaceWindow, Math.floor((span.end - span.start) / 4));
  const from = middle - reach;
  const spaces = [...source.slice(from, middle + reach).matchAll(/\s+/g)].map((m) => from + m.index + m[0].length);
  const inside = spaces.filter((at) => at > span.start && at < span.end);
  if (inside.length === 0) return undefined;
  return inside.reduce((best, at) => (Math.abs(at - middle) < Math.abs(best - middle) ? at : best));
}

function graphemeNear(source: string, span: Span, middle: number): number {
  const from = codePointStart(source, Math.max(span.start, middle - graphemeWindow));
  let best = from;
  for (const { index } of grapheme.segment(source.slice(from, Math.min(span.end, middle + graphemeWindow)))) {
    const at = from + index;
    if (at > span.start && Math.abs(at - middle) < Math.abs(best - middle)) best = at;
  }
  return best > span.start ? best : codePointStart(source, middle);
}

function codePointStart(source: string, at: number): number {
  const unit = source.charCodeAt(at);
  return unit >= 0xdc00 && unit <= 0xdfff ? at - 1 : at;
}
