import type { Rule } from "./rule.ts";

const header = /-----BEGIN (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g;
const footer = /-----END (?:[A-Z0-9]{1,20} ){0,4}PRIVATE KEY(?: BLOCK)?-----/g;
/** Lines of base64, with real or JSON-escaped line ends: what follows a header that was cut off. */
const body = /(?:[ \t]|\\?\r|\\?\n|\\[rn])*(?:[A-Za-z0-9+/=]{16,}(?:[ \t]|\\?\r|\\?\n|\\[rn])+)*[A-Za-z0-9+/=]*/y;

/** No key is longer (RSA with 16,384 bits takes 13 KB): a footer further away belongs to another block. */
const maxBlock = 16_384;

/** Whole PEM blocks of private keys (RFC 7468), and what is left of one whose end was cut off. */
export const privateKeyRule: Rule = {
  kind: "private-key",
  apply(text, mask) {
    let out = "";
    let done = 0;
    let footerAt: FooterAt | undefined;
    for (const match of text.matchAll(header)) {
      if (match.index < done) continue;
      const after = match.index + match[0].length;
      if (footerAt === undefined || footerAt.start < after) footerAt = nextFooter(text, after);
      const end = footerAt.start - after <= maxBlock ? footerAt.end : endOfBody(text, after);
      if (end === after) continue;
      out += text.slice(done, match.index) + mask(text.slice(match.index, end));
      done = end;
    }
    return out + text.slice(done);
  },
};

interface FooterAt {
  readonly start: number;
  readonly end: number;
}

/** Where the next footer is; infinitely far when there is none, so that it is looked for once only. */
function nextFooter(text: string, from: number): FooterAt {
  footer.lastIndex = from;
  const match = footer.exec(text);
  if (match === null) return { start: Number.POSITIVE_INFINITY, end: Number.POSITIVE_INFINITY };
  return { start: match.index, end: match.index + match[0].length };
}

function endOfBody(text: string, from: number): number {
  body.lastIndex = from;
  const found = body.exec(text)?.[0] ?? "";
  // A header that prose merely mentions is followed by words, not by base64.
  return /[A-Za-z0-9+/=]{16}/.test(found) ? from + found.length : from;
}
