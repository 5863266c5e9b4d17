import { createHash } from "node:crypto";
import { createClient, type Transport } from "@connectrpc/connect";
import { DroverError, headOf } from "@drover/kernel";
import { type Execution, Verdict } from "@drover/proto/sandbox/v1/exec";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import type { AnswerChecks } from "../application/ports.ts";
import type { VerificationFinding } from "../domain/task.ts";
import { actingFor } from "./acting-for.ts";
import { runReport } from "./tools/run-report.ts";

const scopes = ["exec:run", "exec:read"];
const findingCharacters = 4_000;
/** Verdicts that say nothing of the answer: the program was not run to its end by no fault of its own. */
const unsettled: ReadonlySet<Verdict> = new Set([Verdict.UNSPECIFIED, Verdict.INFRA_LOST, Verdict.CANCELLED]);

/** Checks an answer by a program in the sandbox: exit code 0 passes, anything else fails, with what it printed. */
export function codeCheck(transport: Transport): AnswerChecks["code"] {
  const client = createClient(ExecService, transport);
  return async (scope, run, signal) => {
    const request = {
      callId: idOf(run.key),
      language: run.language,
      code: run.code,
      stdin: new TextEncoder().encode(run.answer),
      workspaceId: run.workspaceId ?? "",
      taskId: scope.taskId,
    };
    for await (const { event } of client.run(request, actingFor(scope, scopes, signal))) {
      if (event.case === "ended" && event.value.execution !== undefined) return findingsOf(event.value.execution);
    }
    throw new DroverError("UNAVAILABLE", "The sandbox ended the stream before the verifier was over.");
  };
}

function findingsOf(execution: Execution): readonly VerificationFinding[] {
  const { verdict, exitCode } = execution;
  if (unsettled.has(verdict)) {
    throw new DroverError("FAILED_PRECONDITION", "The run of the verifier was lost.", { reason: "VERIFIER_LOST" });
  }
  if (verdict === Verdict.EXITED && exitCode === 0) return [];
  const printed = new TextDecoder().decode(execution.stdout?.head).trim();
  const text = printed === "" ? `The verifier did not pass: ${runReport(execution).summary}.` : printed;
  return [{ code: "CHECK_FAILED", text: headOf(text, findingCharacters), blocking: true }];
}

/** A UUID (version 8, RFC 9562) of a key, so that the same check is the same run. */
function idOf(key: string): string {
  const hex = createHash("sha256").update(`verify ${key}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
