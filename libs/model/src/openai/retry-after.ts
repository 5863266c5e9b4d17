/**
 * How long a provider asks to wait, in milliseconds: `retry-after-ms`, else `Retry-After` as seconds
 * or as an HTTP date (RFC 9110 section 10.2.3). Undefined when it says nothing usable; never negative.
 */
export function retryAfterMs(headers: Headers | undefined, nowMs: number = Date.now()): number | undefined {
  const exact = numberOf(headers?.get("retry-after-ms"));
  if (exact !== undefined) return exact;
  const text = headers?.get("retry-after");
  const seconds = numberOf(text);
  if (seconds !== undefined) return seconds * 1_000;
  const date = text === null || text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? undefined : Math.max(0, date - nowMs);
}

function numberOf(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}
