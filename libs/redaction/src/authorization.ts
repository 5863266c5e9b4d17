import { isMarked } from "./mark.ts";
import type { Rule } from "./rule.ts";

const header =
  /(authorization["']?[ \t]{0,8}[:=][ \t]{0,8}["'`]?)((?:bearer|basic|token|apikey|digest|negotiate)[ \t]{1,8})?([^\s"'`,;]{6,})/gi;
const bearer = /(?<![A-Za-z0-9_-])(bearer[ \t]{1,8})([A-Za-z0-9._~+/=-]{12,})/gi;
const cookie = /(?<![A-Za-z0-9_])((?:set-)?cookie["']?[ \t]{0,8}:[ \t]{0,8}["']?)([^\r\n"']{1,8192})/gi;

/** `Authorization` and `Proxy-Authorization` headers, also as JSON, and `Bearer` credentials anywhere. */
export const authorizationRule: Rule = {
  kind: "authorization",
  apply(text, mask) {
    const headers = text.replace(header, (whole, name: string, scheme: string | undefined, value: string) =>
      isMarked(value) || isWord(value) ? whole : `${name}${scheme ?? ""}${mask(value)}`,
    );
    return headers.replace(bearer, (whole, scheme: string, value: string) =>
      /[0-9]/.test(value) || /[a-z][A-Z]/.test(value) ? `${scheme}${mask(value)}` : whole,
    );
  },
};

/** The values of `Cookie` and `Set-Cookie` headers; the names stay. */
export const cookieRule: Rule = {
  kind: "cookie",
  apply: (text, mask) =>
    text.replace(cookie, (_, name: string, pairs: string) => {
      const masked = pairs.replace(/(=)([^;\s]{6,})/g, (whole, equals: string, value: string) =>
        isMarked(value) || !/[0-9]/.test(value) ? whole : `${equals}${mask(value)}`,
      );
      return name + masked;
    }),
};

/** Prose such as "Authorization: Bearer authentication", or code that names a variable. */
function isWord(value: string): boolean {
  return /^[A-Za-z]?[a-z_.]*$/.test(value) || /^[$<{%]/.test(value) || /[({]/.test(value);
}
