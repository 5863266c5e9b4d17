import { DroverError } from "@drover/kernel";

/** One request as it goes out: what of it changes from hop to hop. */
export interface Hop {
  readonly url: URL;
  readonly method: string;
  readonly headers: Headers;
  readonly body: NonNullable<RequestInit["body"]> | null;
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const secretHeader = /^(?:authorization|cookie|proxy-authorization)$|auth|token|secret|key|credential|identity/i;

/** The target of a redirect, or undefined for any other answer. A redirect without a usable target is UNAVAILABLE. */
export function redirectTarget(status: number, location: string | null, from: URL): URL | undefined {
  if (!redirects.has(status) || location === null) return undefined;
  const target = URL.parse(location, from.href);
  if (target === null)
    throw new DroverError("UNAVAILABLE", `The host ${from.host} redirects to something that is no URL.`);
  return target;
}

/**
 * The next request after a redirect (Fetch standard, HTTP-redirect fetch): 303, and POST after 301 or
 * 302, become GET without a body. Headers that may hold a credential do not leave the origin. A body
 * that is a stream cannot be sent again: FAILED_PRECONDITION.
 */
export function nextHop(hop: Hop, status: number, target: URL): Hop {
  const toGet = (status === 303 && hop.method !== "HEAD") || (status <= 302 && hop.method === "POST");
  if (!toGet && hop.body instanceof ReadableStream) {
    throw new DroverError("FAILED_PRECONDITION", `The host ${hop.url.host} redirects a streamed request.`);
  }
  const headers = new Headers(hop.headers);
  if (target.origin !== hop.url.origin)
    for (const name of [...headers.keys()]) if (secretHeader.test(name)) headers.delete(name);
  if (!toGet) return { url: target, method: hop.method, headers, body: hop.body };
  for (const name of [...headers.keys()]) if (name.startsWith("content-")) headers.delete(name);
  return { url: target, method: "GET", headers, body: null };
}
