import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release, totalmem } from "node:os";
import { join } from "node:path";

/** One line of `bench/results/<name>.json`. */
export interface ResultRow {
  readonly metric: string;
  readonly unit: string;
  readonly ours: number;
  readonly peer: number | null;
  readonly peer_name: string | null;
  /** `ours / peer` where more is better, `peer / ours` where less is; null where there is no peer. */
  readonly ratio: number | null;
  /** E.g. `">= 2"`, held against `ratio`, or against `ours` without one; null for information only. */
  readonly goal: string | null;
}

/** A row without a peer; `goal` is held against `ours`. */
export function row(metric: string, unit: string, ours: number, goal: string | null = null): ResultRow {
  return { metric, unit, ours: rounded(ours), peer: null, peer_name: null, ratio: null, goal };
}

/** A row against a peer that was measured in the same run. */
export function rowAgainst(
  metric: string,
  unit: string,
  ours: number,
  peer: { readonly name: string; readonly value: number; readonly better: "more" | "less" },
  goal: string | null = null,
): ResultRow {
  const ratio = peer.better === "more" ? ours / peer.value : peer.value / ours;
  return {
    metric,
    unit,
    ours: rounded(ours),
    peer: rounded(peer.value),
    peer_name: peer.name,
    ratio: rounded(ratio),
    goal,
  };
}

/** The value at or below which the share `p` (0 to 1) of `values` lies (nearest rank); NaN for none. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.max(0, Math.ceil(p * sorted.length) - 1)] ?? Number.NaN;
}

/** True when a row's goal holds; a row without a goal always passes. */
export function holds(result: ResultRow): boolean {
  const match = /^(>=|<=) (\d+(?:\.\d+)?)$/.exec(result.goal ?? ">= 0");
  if (match === null) throw new TypeError(`A goal must look like ">= 2": ${result.goal}`);
  const value = result.ratio ?? result.ours;
  return result.goal === null || (match[1] === ">=" ? value >= Number(match[2]) : value <= Number(match[2]));
}

/**
 * Prints the machine, what was done and every row, and writes `bench/results/<name>.json`. The exit code
 * stays 0 whatever the goals say: a benchmark is not a test.
 */
export function report(name: string, what: string, rows: readonly ResultRow[]): void {
  print(`${name}: ${what}`);
  print(machine());
  for (const result of rows) {
    const peer = result.peer === null ? "" : `  ${result.peer_name} ${result.peer}  ratio ${result.ratio}`;
    const goal = result.goal === null ? "" : `  goal ${result.goal} ${holds(result) ? "holds" : "MISSED"}`;
    print(`  ${result.metric.padEnd(44)} ${result.ours} ${result.unit}${peer}${goal}`);
  }
  const folder = join(import.meta.dirname, "..", "results");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(rows, null, 2)}\n`);
}

/** Writes a line of progress or of the report. */
export function print(line: string): void {
  process.stdout.write(`${line}\n`);
}

function machine(): string {
  const all = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `  machine: ${all[0]?.model ?? "unknown CPU"}, ${all.length} cores (load ${loadavg()[0]?.toFixed(1)}), ${memory} GiB, Linux ${release()}, Node ${process.version}`;
}

function rounded(value: number): number {
  return Number(value.toPrecision(4));
}
