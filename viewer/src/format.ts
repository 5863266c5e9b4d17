const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

/** A duration in the unit a person would say: 0.4 ms, 188 ms, 1.83 s, 41 s, 2 min 5 s, 3 h 12 min. */
export function duration(ms: number): string {
  if (ms < 1) return `${trimmed(ms, 2)} ms`;
  if (ms < 1_000) return `${trimmed(ms, ms < 10 ? 1 : 0)} ms`;
  if (ms < 9_995) return `${(ms / 1_000).toFixed(2)} s`;
  if (ms < 59_950) return `${trimmed(ms / 1_000, 1)} s`;
  const seconds = Math.round(ms / 1_000);
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
  const minutes = Math.round(seconds / 60);
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** 12,480 */
export function count(value: number): string {
  return whole.format(value);
}

/** A number of tokens in a narrow column: 420, 4.9k, 132k. */
export function shortCount(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 99_950) return `${(value / 1_000).toFixed(1)}k`;
  return value < 999_500 ? `${Math.round(value / 1_000)}k` : `${(value / 1_000_000).toFixed(1)}M`;
}

/** Billionths of a US dollar as dollars, with as many digits as tell something: $0.0071, $1.24, <$0.0001. */
export function cost(nanoUsd: bigint): string {
  const usd = Number(nanoUsd) / 1e9;
  if (usd === 0) return "$0";
  if (usd < 0.0001) return "<$0.0001";
  return `$${usd.toFixed(usd < 1 ? 4 : 2)}`;
}

/** Bytes in the unit a person would say: 512 B, 96 MB. */
export function bytes(value: number): string {
  const units = ["B", "kB", "MB", "GB"];
  let amount = value;
  let unit = 0;
  while (amount >= 1_000 && unit < units.length - 1) {
    amount /= 1_000;
    unit++;
  }
  return `${trimmed(amount, unit === 0 || amount >= 10 ? 0 : 1)} ${units[unit]}`;
}

/** Seconds after the start of the trace: + 6.102 */
export function offset(ms: number): string {
  return `${ms < 0 ? "−" : "+"} ${(Math.abs(ms) / 1_000).toFixed(3)}`;
}

/** How long ago, for the list: just now, 5 min ago, 3 h ago, else the date. */
export function ago(thenMs: number, nowMs: number): string {
  const minutes = Math.floor((nowMs - thenMs) / 60_000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  if (minutes < 24 * 60) return `${Math.floor(minutes / 60)} h ago`;
  return new Date(thenMs).toISOString().slice(0, 10);
}

/** A closed word as a person reads it: WAITING_APPROVAL is "waiting approval". */
export function word(name: string): string {
  return name.toLowerCase().replaceAll("_", " ");
}

function trimmed(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}
