/**
 * How long a provider asks to wait, in milliseconds: `retry-after-ms`, else `Retry-After` as seconds
 * or as an HTTP date (RFC 9110 section 10.2.3), else until the limits that are used up are reset (`x-ratelimit-reset-…`
 * of requests and tokens, as `6m0s`, `250ms` or seconds). Undefined when it says nothing usable; never negative.
 */
export function retryAfterMs(headers: Headers | undefined, nowMs: number = Date.now()): number | undefined {
  const exact = numberOf(headers?.get("retry-after-ms"));
  if (exact !== undefined) return exact;
  const text = headers?.get("retry-after");
  const seconds = numberOf(text);
  if (seconds !== undefined) return seconds * 1_000;
  const date = text === null || text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(date) ? resetMs(headers) : Math.max(0, date - nowMs);
}

/** Of the limits that say so, or of all where none does, the one that is used up for longest. */
function resetMs(headers: Headers | undefined): number | undefined {
  const limits = ["requests", "tokens"].flatMap((limit) => {
    const ms = durationMs(headers?.get(`x-ratelimit-reset-${limit}`));
    return ms === undefined ? [] : [{ ms, usedUp: headers?.get(`x-ratelimit-remaining-${limit}`)?.trim() === "0" }];
  });
  const usedUp = limits.filter((limit) => limit.usedUp);
  const told = (usedUp.length > 0 ? usedUp : limits).map(({ ms }) => ms);
  return told.length === 0 ? undefined : Math.max(...told);
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000 };

/** A duration as Go writes it, or a number of seconds. */
function durationMs(text: string | null | undefined): number | undefined {
  const seconds = numberOf(text);
  if (seconds !== undefined) return seconds * 1_000;
  if (text === null || text === undefined || !/^\s*(?:\d+(?:\.\d+)?(?:ms|s|m|h))+\s*$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * (units[unit ?? ""] ?? 0), 0);
}

function numberOf(text: string | null | undefined): number | undefined {
  return text !== null && text !== undefined && /^\s*\d+(?:\.\d+)?\s*$/.test(text) ? Number(text) : undefined;
}
