import { assignmentRule } from "./assignment.ts";
import { authorizationRule, cookieRule } from "./authorization.ts";
import { redactionMark } from "./mark.ts";
import { privateKeyRule } from "./private-key.ts";
import type { Rule } from "./rule.ts";
import { tokenShapes } from "./token-shapes.ts";
import { urlCredentialsRule } from "./url-credentials.ts";

/** What redaction found. */
export interface Redaction {
  /** The text with every secret replaced by `[redacted:<kind>]`. */
  readonly text: string;
  /** How many secrets were replaced. */
  readonly count: number;
  /** The kinds found, each once, in the order of the rules. */
  readonly kinds: readonly string[];
}

/** Precise shapes first, so that a mark says as much as possible; the rules that go by a name last. */
const rules: readonly Rule[] = [
  privateKeyRule,
  ...tokenShapes,
  authorizationRule,
  cookieRule,
  urlCredentialsRule,
  assignmentRule,
];

/**
 * Masks what looks like a secret. Linear in the length of the text, for hostile text too; idempotent;
 * a text without a secret comes back as the same string. It works on the text alone: a secret without
 * a known shape and without a telling name beside it is not found. Redact before cutting a text, or a
 * secret may be cut out of its shape.
 */
export function redact(text: string): Redaction {
  let count = 0;
  const kinds = new Set<string>();
  let redacted = text;
  for (const rule of rules) {
    redacted = rule.apply(redacted, () => {
      count++;
      kinds.add(rule.kind);
      return redactionMark(rule.kind);
    });
  }
  return { text: redacted, count, kinds: [...kinds] };
}
