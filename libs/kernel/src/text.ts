/**
 * The text as Postgres and JSON can hold it: NUL becomes U+2400, lone surrogates become U+FFFD.
 * Everything else stays as it was.
 */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll("\u0000", "\u2400");
}

/** At most `max` UTF-16 units from the start, never ending inside a surrogate pair. */
export function headOf(text: string, max: number): string {
  if (text.length <= max) return text;
  const cut = isHighSurrogate(text.charCodeAt(max - 1)) ? max - 1 : max;
  return text.slice(0, cut);
}

/** At most `max` UTF-16 units from the end, never beginning inside a surrogate pair. */
export function tailOf(text: string, max: number): string {
  if (text.length <= max) return text;
  const start = text.length - max;
  return text.slice(isHighSurrogate(text.charCodeAt(start - 1)) ? start + 1 : start);
}

function isHighSurrogate(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}
