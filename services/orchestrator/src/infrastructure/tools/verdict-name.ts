import { Verdict } from "@drover/proto/sandbox/v1/exec";

const names = new Map<number, string>(Object.entries(Verdict).map(([name, value]) => [value, name]));

/** The name of a verdict, e.g. `TIMEOUT_WALL`; one that a newer sandbox has made up is UNKNOWN_VERDICT. */
export function verdictName(verdict: number): string {
  return names.get(verdict) ?? "UNKNOWN_VERDICT";
}
