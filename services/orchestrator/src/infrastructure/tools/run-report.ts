import { type Execution, FileChange_Kind, type OutputFacts, Verdict } from "@drover/proto/sandbox/v1/exec";
import type { ToolResult } from "../../domain/tool-result.ts";
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
    text: [section("stdout", execution.stdout), section("stderr", execution.stderr), changesOf(execution)]
      .filter((part) => part !== "")
      .join("\n"),
    artifacts: taken.map(({ path }) => shownPath(path)),
    retryable: execution.verdict === Verdict.INFRA_LOST,
  };
}

function errorCode({ verdict }: Execution): string {
  return verdict === Verdict.EXITED ? "NONZERO_EXIT" : verdictName(verdict);
}

function summaryOf(execution: Execution): string {
  const seconds = Number(execution.wallTime?.seconds ?? 0n) + (execution.wallTime?.nanos ?? 0) / 1e9;
  const exit = execution.exitCode === undefined ? "no exit code" : `exit code ${execution.exitCode}`;
  const signal = execution.signal === "" ? "" : `, ${execution.signal}`;
  // A program that ended by itself is described by its exit code alone.
  const told = execution.verdict === Verdict.EXITED || execution.message === "";
  const said = told ? "" : `. ${execution.message}`;
  return `${execution.language}: ${exit}, ${verdictName(execution.verdict)}${signal}, ${seconds.toFixed(2)} s${said}`;
}

function section(name: string, facts: OutputFacts | undefined): string {
  if (facts === undefined || facts.bytesSeen === 0n) return `--- ${name}: empty`;
  const decoder = new TextDecoder();
  const head = decoder.decode(facts.head);
  if (facts.bytesDropped === 0n) return `--- ${name}, ${facts.bytesSeen} bytes\n${head}${decoder.decode(facts.tail)}`;
  const gap = `[${facts.bytesDropped} bytes of ${facts.bytesSeen} were dropped here: over the output limit]`;
  return `--- ${name}, ${facts.bytesSeen} bytes\n${head}\n${gap}\n${decoder.decode(facts.tail)}`;
}

const verbs = new Map<number, string>([
  [FileChange_Kind.ADDED, "added"],
  [FileChange_Kind.MODIFIED, "modified"],
  [FileChange_Kind.DELETED, "deleted"],
  [FileChange_Kind.SKIPPED, "NOT KEPT"],
  [FileChange_Kind.CONFLICT, "CONFLICT, not kept"],
]);

function changesOf({ changes }: Execution): string {
  if (changes.length === 0) return "";
  const lines = changes.slice(0, 200).map(({ kind, path, sizeBytes, skippedReason }) => {
    const why = skippedReason === "" ? "" : `: ${skippedReason}`;
    return `${verbs.get(kind) ?? "changed"} ${shownPath(path)} (${sizeBytes} bytes)${why}`;
  });
  const more = changes.length > 200 ? [`and ${changes.length - 200} more`] : [];
  return ["--- files", ...lines, ...more].join("\n");
}
