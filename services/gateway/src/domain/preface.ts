/** What a fresh connection speaks, as far as its first bytes tell. */
export type Protocol = "http2" | "http1" | "undecided";

/** The client connection preface of HTTP/2 (RFC 9113 section 3.4), all 24 bytes of it. */
const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** The bytes that {@link sniffProtocol} needs at most. */
export const prefaceLength = preface.length;

/**
 * Decides by the whole preface. `undecided` means that every byte so far fits it and more are needed;
 * the first byte that does not fit makes it `http1`.
 */
export function sniffProtocol(start: Uint8Array): Protocol {
  const length = Math.min(start.length, prefaceLength);
  for (let i = 0; i < length; i++) if (start[i] !== preface.charCodeAt(i)) return "http1";
  return length === prefaceLength ? "http2" : "undecided";
}
