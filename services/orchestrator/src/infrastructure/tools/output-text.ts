import type { OutputFacts } from "@drover/proto/sandbox/v1/exec";

/**
 * A kept output as well-formed text. Where bytes were dropped, a line between head and tail says how
 * many are missing; characters that the cut went through are missing as a whole.
 */
export function outputText({ head, tail, bytesSeen, bytesDropped }: OutputFacts): string {
  if (bytesDropped === 0n) return decoded(Buffer.concat([head, tail]));
  const [first, last] = [head.subarray(0, wholeEnd(head)), tail.subarray(wholeStart(tail))];
  const missing = bytesSeen - BigInt(first.length + last.length);
  return `${decoded(first)}\n[${missing} bytes of ${bytesSeen} were dropped here: over the output limit]\n${decoded(last)}`;
}

function decoded(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

const isContinuation = (byte: number | undefined) => byte !== undefined && (byte & 0xc0) === 0x80;

/** Where the last character that is whole ends. */
function wholeEnd(bytes: Uint8Array): number {
  let lead = bytes.length - 1;
  while (bytes.length - lead < 4 && isContinuation(bytes[lead])) lead--;
  const byte = bytes[lead] ?? 0;
  const size = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1;
  return lead >= 0 && lead + size > bytes.length ? lead : bytes.length;
}

/** Where the first character that is whole begins. */
function wholeStart(bytes: Uint8Array): number {
  let start = 0;
  while (start < 3 && isContinuation(bytes[start])) start++;
  return start;
}
