import { type Timestamp, timestampMs } from "@bufbuild/protobuf/wkt";

const grouped = new Intl.NumberFormat("en-US");

/** A count as people write it: `12,480`. */
export function countOf(value: number | bigint): string {
  return grouped.format(value);
}

/** A duration in the unit a person would say: `402 ms`, `2.3 s`, `4 min 07 s`, `2 h 05 min`. */
export function durationOf(ms: number): string {
  const whole = Math.max(0, Math.round(ms));
  if (whole < 1000) return `${whole} ms`;
  if (whole < 59_950) return `${(whole / 1000).toFixed(1)} s`;
  const seconds = Math.round(whole / 1000);
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${String(seconds % 60).padStart(2, "0")} s`;
  const minutes = Math.round(seconds / 60);
  return `${countOf(Math.floor(minutes / 60))} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** A price given in nano-USD: four decimals below a dollar, two above. */
export function dollarsOf(nanoUsd: bigint): string {
  const dollars = Number(nanoUsd) / 1e9;
  if (dollars === 0) return "$0";
  if (dollars < 0.0001) return "<$0.0001";
  return dollars < 1 ? `$${dollars.toFixed(4)}` : `$${dollars.toFixed(2)}`;
}

/** A size in bytes with decimal units: `512 B`, `96 MB`. */
export function bytesOf(bytes: number | bigint): string {
  let value = Number(bytes);
  let unit = "B";
  for (const larger of ["kB", "MB", "GB", "TB"]) {
    if (value < 999.5) break;
    value /= 1000;
    unit = larger;
  }
  return `${unit === "B" || value >= 9.95 ? Math.round(value) : value.toFixed(1)} ${unit}`;
}

/** `1 round`, `3 rounds`. */
export function plural(count: number, noun: string): string {
  return `${countOf(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Milliseconds from one time to another; undefined where one is missing. */
export function betweenMs(from: Timestamp | undefined, to: Timestamp | undefined): number | undefined {
  return from === undefined || to === undefined ? undefined : Math.max(0, timestampMs(to) - timestampMs(from));
}
