/** One way to find secrets. Every rule is linear in the length of the text, whatever the text is. */
export interface Rule {
  /** Names the kind in the mark, `^[a-z0-9-]{1,40}$`. */
  readonly kind: string;
  /** The text with each secret replaced by `mask(secret)`; everything else unchanged. */
  apply(text: string, mask: (secret: string) => string): string;
}

/** A rule for secrets that are recognised by their own shape. `accept` may look closer at a match. */
export function shapeRule(kind: string, pattern: RegExp, accept: (secret: string) => boolean = () => true): Rule {
  return { kind, apply: (text, mask) => text.replace(pattern, (secret) => (accept(secret) ? mask(secret) : secret)) };
}
