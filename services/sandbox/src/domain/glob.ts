import { invalidField } from "@drover/kernel";

type Token = { readonly kind: "literal"; readonly text: string } | { readonly kind: "any" | "one" };

const maxLength = 256;

/**
 * A matcher for paths: `*` and `?` stay within one part, `**` as a whole part stands for any number
 * of parts, everything else is literal. An empty pattern matches everything. A pattern without `/`
 * is matched against the last part, as in `*.ts`. The work is bounded by pattern × path.
 */
export function globMatcher(field: string, pattern: string): (path: string) => boolean {
  if (pattern === "") return () => true;
  if (pattern.length > maxLength) throw invalidField(field, `${pattern.length} characters`, `at most ${maxLength}`);
  const parts = pattern.split("/").map((part) => (part === "**" ? undefined : tokensOf(part)));
  if (parts.length === 1) return (path) => matchParts(parts, path.split("/").slice(-1));
  return (path) => matchParts(parts, path.split("/"));
}

function tokensOf(part: string): Token[] {
  return [...part].map((text) =>
    text === "*" ? { kind: "any" } : text === "?" ? { kind: "one" } : { kind: "literal", text },
  );
}

function matchParts(parts: readonly (readonly Token[] | undefined)[], names: readonly string[]): boolean {
  return matchSequence(
    parts,
    names,
    (part) => part === undefined,
    (part, name) => part !== undefined && matchPart(part, name),
  );
}

function matchPart(tokens: readonly Token[], name: string): boolean {
  return matchSequence(
    tokens,
    [...name],
    (token) => token.kind === "any",
    (token, character) => token.kind === "one" || (token.kind === "literal" && token.text === character),
  );
}

/** Dynamic programming over (pattern, input): a star takes any number of items, anything else one. */
function matchSequence<P, I>(
  pattern: readonly P[],
  input: readonly I[],
  isStar: (p: P) => boolean,
  matches: (p: P, i: I) => boolean,
): boolean {
  let reachable = new Array<boolean>(input.length + 1).fill(false);
  reachable[0] = true;
  for (const p of pattern) {
    const next = new Array<boolean>(input.length + 1).fill(false);
    for (let i = 0; i <= input.length; i++) {
      if (isStar(p)) next[i] = reachable[i] === true || (i > 0 && next[i - 1] === true);
      else next[i] = i > 0 && reachable[i - 1] === true && matches(p, input[i - 1] as I);
    }
    reachable = next;
  }
  return reachable[input.length] === true;
}
