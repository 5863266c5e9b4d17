import { invalidField } from "@drover/kernel";

const unitMs: Readonly<Record<string, number>> = { H: 3_600_000, M: 60_000, S: 1000, m: 1, u: 1e-3, n: 1e-6 };

/**
 * Milliseconds of a `grpc-timeout` header, or undefined where there is none. INVALID_ARGUMENT for
 * text that is not one: https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md, "Timeout".
 */
export function parseGrpcTimeout(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = timeIn(header);
  if (ms === undefined) {
    throw invalidField(
      "grpc-timeout",
      JSON.stringify(header.slice(0, 20)),
      "1 to 8 digits and one of H, M, S, m, u, n",
    );
  }
  return ms;
}

function timeIn(header: string): number | undefined {
  const [, digits, letter = ""] = /^(\d{1,8})([HMSmun])$/.exec(header) ?? [];
  const unit = unitMs[letter];
  return digits === undefined || unit === undefined ? undefined : Number(digits) * unit;
}

/** The header for a time in milliseconds, rounded up so that nobody's deadline gets shorter. */
export function formatGrpcTimeout(ms: number): string {
  const whole = Math.max(0, Math.ceil(ms));
  return whole < 1e8 ? `${whole}m` : `${Math.min(Math.ceil(whole / 1000), 99_999_999)}S`;
}

/** The shorter of what was asked and the cap; the cap where nothing was asked. */
export function cappedTimeout(askedMs: number | undefined, capMs: number): number {
  return askedMs === undefined ? capMs : Math.min(askedMs, capMs);
}

/** The headers that carry a time, in gRPC and in Connect. */
export const timeoutHeaders = ["grpc-timeout", "connect-timeout-ms"] as const;

/**
 * The text of such a header with at most `capMs` in it. Both protocols allow more than a timer can count, and a
 * timer that overflows ends the call at once. Text that is no time stays for its reader to refuse.
 */
export function cappedTimeoutHeader(name: (typeof timeoutHeaders)[number], text: string, capMs: number): string {
  if (name === "grpc-timeout") return (timeIn(text) ?? 0) > capMs ? formatGrpcTimeout(capMs) : text;
  return /^\d{1,10}$/.test(text) && Number(text) > capMs ? String(Math.ceil(capMs)) : text;
}
