import { randomBytes } from "./random-bytes.ts";

let lastMs = 0;
let sequence = 0;

/**
 * A UUIDv7 (RFC 9562 section 5.7) as 36 lower-case characters. Ids made by one process sort in the
 * order they were made: the 12 bits after the version are a counter within the millisecond.
 */
export function newId(nowMs: number = Date.now()): string {
  if (nowMs > lastMs) {
    lastMs = nowMs;
    sequence = 0;
  } else if (++sequence > 0xfff) {
    lastMs++;
    sequence = 0;
  }
  const bytes = randomBytes(16);
  for (let i = 0, ms = lastMs; i < 6; i++) {
    bytes[5 - i] = ms % 256;
    ms = Math.floor(ms / 256);
  }
  bytes[6] = 0x70 | (sequence >> 8);
  bytes[7] = sequence & 0xff;
  bytes[8] = 0x80 | ((bytes[8] ?? 0) & 0x3f);
  const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** True for any lower-case UUID; ids are compared as text, so upper case is refused. */
export function isId(text: string): boolean {
  return uuid.test(text);
}
