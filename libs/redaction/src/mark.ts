/** The mark that stands where a secret stood. */
export function redactionMark(kind: string): string {
  return `[redacted:${kind}]`;
}

const anyMark = /\[redacted:[a-z0-9-]{1,40}\]/;

/**
 * True for a text that holds a mark of ours. Tools that write files refuse such text, so that a mask
 * never replaces the secret it stands for.
 */
export function hasRedactionMark(text: string): boolean {
  return anyMark.test(text);
}

/** True when a value is, or begins with, a mark: it was redacted before. */
export function isMarked(value: string): boolean {
  return value.startsWith("[redacted:");
}
