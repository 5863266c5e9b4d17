import type { Refusal } from "./refusal.ts";

/** The largest share of control characters in a text; more than that is not text. */
const maxControlShare = 0.01;
/** Bytes that are looked at for the NUL pattern of UTF-16 without a mark. */
const sampleBytes = 4096;
/** UTF-16 of mostly Latin text has a NUL in about every second place, and in no other. */
const minNulShare = 0.4;
const maxStrayShare = 0.05;

const allowedEncodings = "UTF-8, or UTF-16 with a byte order mark";

type Encoding = "utf-8" | "utf-16le" | "utf-16be";

/**
 * The text of a file, decoded strictly: a byte order mark decides, then the NUL pattern of UTF-16, else
 * it must be UTF-8. Nothing is guessed and nothing replaced: bytes that do not decode refuse the whole,
 * and so do more than 1 % control characters. NUL is dropped, line ends stay as they are.
 */
export function decodeText(bytes: Uint8Array): { readonly text: string } | Refusal {
  if (bytes.byteLength === 0) return { check: "empty", found: "0 bytes", allowed: "at least one character" };
  if (startsWith(bytes, [0xff, 0xfe, 0, 0]) || startsWith(bytes, [0, 0, 0xfe, 0xff])) {
    return { check: "encoding", found: "UTF-32", allowed: allowedEncodings };
  }
  const encoding = encodingOf(bytes);
  const decoded = decodeAs(encoding, bytes);
  if (decoded === undefined) {
    return { check: "encoding", found: `bytes that are not ${encoding.toUpperCase()}`, allowed: allowedEncodings };
  }
  const controls = decoded.match(/(?![\t\n\f\r])\p{Cc}/gu)?.length ?? 0;
  if (controls > maxControlShare * decoded.length) {
    const share = ((100 * controls) / decoded.length).toFixed(1);
    return { check: "content", found: `${share} % control characters`, allowed: "text, at most 1 % of them" };
  }
  const text = decoded.replaceAll("\u0000", "");
  if (text.trim() === "") return { check: "empty", found: "only white space", allowed: "at least one character" };
  return { text };
}

function encodingOf(bytes: Uint8Array): Encoding {
  if (startsWith(bytes, [0xff, 0xfe])) return "utf-16le";
  if (startsWith(bytes, [0xfe, 0xff])) return "utf-16be";
  return utf16WithoutMark(bytes) ?? "utf-8";
}

function utf16WithoutMark(bytes: Uint8Array): Encoding | undefined {
  const pairs = Math.floor(Math.min(bytes.byteLength, sampleBytes) / 2);
  if (pairs === 0) return undefined;
  let even = 0;
  let odd = 0;
  for (let i = 0; i < pairs; i++) {
    if (bytes[2 * i] === 0) even++;
    if (bytes[2 * i + 1] === 0) odd++;
  }
  if (odd >= minNulShare * pairs && even <= maxStrayShare * pairs) return "utf-16le";
  if (even >= minNulShare * pairs && odd <= maxStrayShare * pairs) return "utf-16be";
  return undefined;
}

function decodeAs(encoding: Encoding, bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

function startsWith(bytes: Uint8Array, mark: readonly number[]): boolean {
  return mark.every((byte, index) => bytes[index] === byte);
}
