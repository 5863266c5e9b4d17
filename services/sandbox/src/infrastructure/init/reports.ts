import type { ProgramReport } from "../../application/ports.ts";

/** A change as process 1 announces it; the bytes of a "put" follow in frames of their own. */
export interface ChangeHeader {
  readonly op: "put" | "delete" | "skip";
  readonly path: string;
  readonly size: number;
  readonly executable: boolean;
  readonly reason: string;
}

/** The EXIT payload. Process 1 is our own program, yet nothing it says is taken without a look. */
export function programReport(payload: Buffer): ProgramReport {
  const report = record(payload);
  return {
    ...exitOf(report),
    ...(typeof report.error === "string" && report.error !== "" ? { launchError: report.error } : {}),
    ...(report.cpu_exceeded === true ? { cpuExceeded: true } : {}),
    ...(report.disk_full === true ? { diskFull: true } : {}),
    ...(report.beside === true ? { beside: true } : {}),
    oomKills: natural(report.oom_kills),
    wallMs: natural(report.wall_us) / 1000,
    cpuMs: (natural(report.user_us) + natural(report.system_us)) / 1000,
    peakMemoryBytes: natural(report.max_rss_bytes),
  };
}

/** The CHANGE payload. */
export function changeHeader(payload: Buffer): ChangeHeader {
  const change = record(payload);
  const { op } = change;
  if (op !== "put" && op !== "delete" && op !== "skip") throw new Error("Process 1 reported an unknown change.");
  return {
    op,
    path: text(change.path),
    size: natural(change.size),
    executable: change.exec === true,
    reason: text(change.reason),
  };
}

/** The id that STARTED and EXIT of a session's command carry; 0 for a phase that runs alone. */
export function phaseId(payload: Buffer): number {
  return natural(record(payload).id);
}

/** The FAULT payload: why process 1 refused a request. */
export function faultReport(payload: Buffer): { readonly reason: string; readonly message: string } {
  const fault = record(payload);
  return { reason: text(fault.reason), message: text(fault.message) };
}

/** Why process 1 left a file out, in words. */
const refusals: Readonly<Record<string, string>> = {
  NO_ROOM: "there is no room for it in the session's container",
  FORBIDDEN: "a command took away the permission to write there",
  IN_THE_WAY: "what a command left there is in its way",
  NOT_COLLECTED: "what a command left there could not be read or taken over",
};

/** The REFUSED payload: which file was left out, and why in words. */
export function refusedReport(payload: Buffer): { readonly path: string; readonly reason: string } {
  const refused = record(payload);
  return { path: text(refused.path), reason: refusals[text(refused.reason)] ?? "it cannot be put there" };
}

function exitOf(report: Record<string, unknown>): Pick<ProgramReport, "exit"> {
  if (typeof report.code === "number") return { exit: { code: report.code & 0xff } };
  if (typeof report.signal === "number") return { exit: { signal: natural(report.signal) } };
  return {};
}

function record(payload: Buffer): Record<string, unknown> {
  const parsed: unknown = JSON.parse(payload.toString("utf8"));
  if (typeof parsed !== "object" || parsed === null) throw new Error("Process 1 sent a report that is no object.");
  return { ...parsed };
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function natural(value: unknown): number {
  return typeof value === "number" && value > 0 ? value : 0;
}
