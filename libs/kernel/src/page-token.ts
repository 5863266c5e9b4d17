import { invalidField } from "./errors.ts";

/** Page sizes every List rpc shares; a larger request is clamped, zero means the default. */
export const pageSizes = { default: 50, max: 500 } as const;

/** The page size to use for a requested one; negative numbers are refused. */
export function pageSize(requested: number): number {
  if (requested < 0) throw invalidField("page_size", String(requested), `0 to ${pageSizes.max}`);
  return requested === 0 ? pageSizes.default : Math.min(requested, pageSizes.max);
}

/**
 * An opaque page token for the position after which the next page begins. `scope` names the list and
 * its filter; a token used on another list or filter is refused by {@link decodePageToken}.
 */
export function encodePageToken(scope: string, after: readonly string[]): string {
  return toBase64Url(JSON.stringify([1, scope, ...after]));
}

/** The position in a token, or undefined for the first page (empty token). INVALID_ARGUMENT otherwise. */
export function decodePageToken(scope: string, token: string): readonly string[] | undefined {
  if (token === "") return undefined;
  const bad = () =>
    invalidField(
      "page_token",
      "a token that was not made for this list",
      "the next_page_token of the same list and filter",
    );
  let parsed: unknown;
  try {
    parsed = JSON.parse(fromBase64Url(token));
  } catch {
    throw bad();
  }
  if (!Array.isArray(parsed) || parsed[0] !== 1 || parsed[1] !== scope) throw bad();
  const after = parsed.slice(2);
  if (!after.every((part): part is string => typeof part === "string")) throw bad();
  return after;
}

function toBase64Url(text: string): string {
  const bytes = new TextEncoder().encode(text);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}

function fromBase64Url(text: string): string {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new TextDecoder("utf-8", { fatal: true }).decode(Uint8Array.from(binary, (c) => c.charCodeAt(0)));
}
