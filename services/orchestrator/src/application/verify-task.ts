import { DroverError } from "@drover/kernel";
import { redact } from "@drover/redaction";
import { attr, type Span } from "@drover/tracing";
import { agentOf, type Verifier } from "../domain/agent.ts";
import { exhausted } from "../domain/budget.ts";
import type { Step } from "../domain/step.ts";
import type { VerificationFinding, VerificationReport } from "../domain/task.ts";
import { hasCitation, hasPassages, verifyAnswer } from "../domain/verify-answer.ts";
import { type Checked, skipped, type VerifyParts } from "./checked.ts";
import { failTask } from "./end-task.ts";
import { judgeAnswer } from "./judge-answer.ts";
import { withPatience } from "./patience.ts";
import type { TaskChange } from "./ports.ts";
import type { TaskSession } from "./task-session.ts";

/**
 * Checks the answer of `turn` by the rules that always hold and by the verifier of the task's agent, and records the
 * report. An answer that does not pass goes back to the model with the findings as often as the agent allows; then the
 * task FAILED with reason VERIFICATION_FAILED, and the answer stays. A verifier that cannot be asked is a finding that
 * blocks nothing. The report is one commit, so that what was paid for once is not asked for again.
 */
export async function verifyTask(parts: VerifyParts, session: TaskSession, turn: Step): Promise<void> {
  const { task, control } = session;
  const { verifier, maxReworks } = agentOf(task);
  const span = parts.tracer.start({
    tenant: task.tenant,
    name: `verify: ${verifier.kind}`,
    kind: "verification",
    parent: session.root.context,
    taskId: task.id,
    attributes: { [attr.round]: task.round },
  });
  try {
    const always = verifyAnswer(task.answer, turn.body.kind === "turn" ? turn.body.finishReason : "", {
      prompt: task.prompt,
      log: session.log,
      tools: parts.tools.specs.map((spec) => spec.name),
    });
    // What fails the free rules goes back as it is: nothing is paid for it.
    const own = always.some((finding) => finding.blocking)
      ? { findings: [] }
      : await checkBy(parts, session, turn, span);
    control.signal.throwIfAborted();
    const findings = [...always, ...own.findings];
    const passed = !findings.some((finding) => finding.blocking);
    const report = { passed, verifier: verifier.kind, findings, reworks: task.reworks };
    span.payload("output", JSON.stringify(report));
    span.end(passed ? {} : { error: findings.map(({ code }) => code).join(", ") });
    await record(session, report, own, maxReworks);
  } catch (error) {
    span.end({ error: DroverError.from(error).message });
    throw error;
  }
}

async function record(
  session: TaskSession,
  report: VerificationReport,
  { asked }: Checked,
  maxReworks: number,
): Promise<void> {
  const { task } = session;
  const { passed, findings } = report;
  const again = !passed && task.reworks < maxReworks;
  const reworks = again ? task.reworks + 1 : task.reworks;
  const role = { role: "verifier" } as const;
  const body = { kind: "verification", report, ...(asked === undefined ? {} : { ...role, ...asked }) } as const;
  const event = {
    type: "verification_completed",
    passed,
    verifier: report.verifier,
    findings: findings.map(({ code, text }) => `${code}: ${text}`),
    reworks,
  } as const;
  const change: TaskChange = {
    steps: [{ seq: session.lastStep + 1, round: task.round, body }],
    events: [event],
    verification: report,
    reworks,
    ...(asked === undefined ? {} : { usage: asked.usage }),
  };
  session.endRound();
  if (passed) {
    await session.commit(change);
    return;
  }
  const codes = findings.flatMap(({ code, blocking }) => (blocking ? [code] : [])).join(", ");
  if (again) {
    await session.commit({ ...change, state: { to: "RUNNING", actor: "verifier", reason: codes, input: "rework" } });
    return;
  }
  const message = `The answer did not pass its verification (${codes}) and was sent back ${task.reworks} times.`;
  await failTask(session, "VERIFICATION_FAILED", message, change);
}

/** The agent's own verifier. */
async function checkBy(parts: VerifyParts, session: TaskSession, turn: Step, span: Span): Promise<Checked> {
  const { task } = session;
  const { verifier } = agentOf(task);
  switch (verifier.kind) {
    case "default":
      return { findings: [] };
    case "rules":
      return { findings: [...parts.checks.rules(verifier, task.answer), ...citationFindings(verifier, session)] };
    case "json_schema":
      return { findings: parts.checks.jsonSchema(verifier.schema, task.answer) };
    case "code":
    case "model":
      if (exhausted(task) === "WALL_TIME")
        return skipped("The time for the task is used up; the verifier was not asked.");
      return verifier.kind === "code"
        ? { findings: await runVerifier(parts, session, { verifier, turn, span }) }
        : await judgeAnswer(parts, session, verifier, span);
  }
}

async function runVerifier(
  parts: VerifyParts,
  session: TaskSession,
  run: { readonly verifier: Verifier & { readonly kind: "code" }; readonly turn: Step; readonly span: Span },
): Promise<readonly VerificationFinding[]> {
  const { task, control } = session;
  const { verifier, turn, span } = run;
  const request = {
    key: `${task.id}/${turn.seq}`,
    language: verifier.language,
    code: verifier.code,
    answer: task.answer,
    workspaceId: task.workspaceId,
  };
  try {
    const findings = await withPatience(
      { totalMs: parts.toolPatienceMs, clock: parts.clock },
      control.signal,
      () => parts.checks.code(session.scope(span), request, control.signal),
      (error) => span.event("retry", { text: error.message }),
    );
    return findings.map((finding) => ({ ...finding, text: redact(finding.text).text }));
  } catch (error) {
    if (control.signal.aborted) throw error;
    return skipped(`The verifier could not be run: ${DroverError.from(error).message}`).findings;
  }
}

function citationFindings(
  { requiresCitation }: Verifier & { readonly kind: "rules" },
  { task, log }: TaskSession,
): VerificationFinding[] {
  if (!requiresCitation || !hasPassages(log) || hasCitation(task.answer, log)) return [];
  const text = "The answer cites no document though a search found some: name the passage's number or its document.";
  return [{ code: "NO_CITATION", text, blocking: true }];
}
