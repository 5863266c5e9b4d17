/**
 * When a call id was made, in milliseconds since 1970, for a UUIDv7 (RFC 9562 section 5.7);
 * undefined for other versions. A cancel that is younger than the id also covers a call that arrives
 * after it; a task that was resumed makes younger ids.
 */
export function callMadeAt(callId: string): number | undefined {
  if (callId[14] !== "7") return undefined;
  return Number.parseInt(callId.slice(0, 8) + callId.slice(9, 13), 16);
}
