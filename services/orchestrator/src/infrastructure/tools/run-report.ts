import { type Execution, FileChange_Kind, type OutputFacts, Phase, Verdict } from "@drover/proto/sandbox/v1/exec";
import type { ToolResult } from "../../domain/tool-result.ts";
import { outputText } from "./output-text.ts";
import { verdictName } from "./verdict-name.ts";
import { shownPath } from "./workspace-path.ts";

/** A run as the model and people are told of it: how it ended, what it wrote, what it changed. */
export function runReport(execution: Execution): ToolResult {
  const ok = execution.verdict === Verdict.EXITED && execution.exitCode === 0;
  const taken = execution.changes.filter(
    ({ kind }) => kind === FileChange_Kind.ADDED || kind === FileChange_Kind.MODIFIED,
  );
  return {
    ok,
    errorCode: ok ? "" : errorCode(execution),
    summary: summaryOf(execution),
    text: [...compilerOf(execution), ...programOf(execution), changesOf(execution)]
      .filter((part) => part !== "")
      .join("\n"),
    artifacts: taken.map(({ path }) => shownPath(path)),
    retryable: execution.verdict === Verdict.INFRA_LOST,
  };
}

function errorCode({ verdict, phase }: Execution): string {
  if (verdict === Verdict.EXITED && phase === Phase.COMPILE) return "COMPILE_ERROR";
  return verdict === Verdict.EXITED ? "NONZERO_EXIT" : verdictName(verdict);
}

function summaryOf(execution: Execution): string {
  const took = execution.phase === Phase.COMPILE ? execution.compile?.wallTime : execution.wallTime;
  const seconds = Number(took?.seconds ?? 0n) + (took?.nanos ?? 0) / 1e9;
  const who = execution.phase === Phase.COMPILE ? " of the compiler" : "";
  const exit = execution.exitCode === undefined ? "no exit code" : `exit code ${execution.exitCode}${who}`;
  const signal = execution.signal === "" ? "" : `, ${execution.signal}`;
  // A program that ended by itself is described by its exit code alone.
  const told = execution.verdict === Verdict.EXITED || execution.message === "";
  const said = told ? "" : `. ${execution.message}`;
  return `${execution.language}: ${exit}, ${verdictName(execution.verdict)}${signal}, ${seconds.toFixed(2)} s${said}`;
}

function compilerOf({ compile }: Execution): string[] {
  const streams = [compile?.stdout, compile?.stderr].filter((facts) => facts !== undefined && facts.bytesSeen > 0n);
  return streams.map((facts) => section("compiler", facts));
}

function programOf({ phase, stdout, stderr }: Execution): string[] {
  if (phase === Phase.COMPILE) return [];
  return [section("stdout", stdout), section("stderr", stderr)];
}

function section(name: string, facts: OutputFacts | undefined): string {
  if (facts === undefined || facts.bytesSeen === 0n) return `--- ${name}: empty`;
  return `--- ${name}, ${facts.bytesSeen} bytes\n${outputText(facts)}`;
}

const verbs = new Map<number, string>([
  [FileChange_Kind.ADDED, "added"],
  [FileChange_Kind.MODIFIED, "modified"],
  [FileChange_Kind.DELETED, "deleted"],
  [FileChange_Kind.SKIPPED, "NOT KEPT"],
  [FileChange_Kind.CONFLICT, "CONFLICT, not kept"],
]);

function changesOf({ changes, changesOmitted }: Execution): string {
  if (changes.length === 0) return "";
  const lines = changes.slice(0, 200).map(({ kind, path, sizeBytes, skippedReason }) => {
    const why = skippedReason === "" ? "" : `: ${skippedReason}`;
    return `${verbs.get(kind) ?? "changed"} ${shownPath(path)} (${sizeBytes} bytes)${why}`;
  });
  const left = changes.length - lines.length + changesOmitted;
  const more = left > 0 ? [`and ${left} more`] : [];
  return ["--- files", ...lines, ...more].join("\n");
}
