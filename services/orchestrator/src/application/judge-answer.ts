import { DroverError } from "@drover/kernel";
import { collectDecision, type Message, type ModelRequest, priceOf } from "@drover/model";
import { redact } from "@drover/redaction";
import { attr, type Span } from "@drover/tracing";
import type { Verifier } from "../domain/agent.ts";
import { allowanceFor, exhaustedText } from "../domain/budget.ts";
import { sumUsage, type TaskUsage } from "../domain/task.ts";
import { judgeMessages, repairRequest, type Verdict, verdictOf } from "../domain/verdict.ts";
import { usageOf } from "./ask-model.ts";
import { type Checked, skipped, type VerifyParts } from "./checked.ts";
import { type TaskSession, usageAttributes } from "./task-session.ts";

/** Most tokens of a verdict. */
const verdictTokens = 1_024;

/**
 * Asks a model whether the answer fulfils the criteria, as role `verifier`. A verdict that cannot be read is asked for
 * once more; then, and where the model does not answer or the budget has no room for it, the answer counts as not
 * checked, which is said. Throws only after an abort.
 */
export async function judgeAnswer(
  parts: VerifyParts,
  session: TaskSession,
  verifier: Verifier & { readonly kind: "model" },
  span: Span,
): Promise<Checked> {
  const { task } = session;
  const model = verifier.model || task.model;
  const messages: Message[] = [...judgeMessages(verifier.criteria, task.prompt, task.answer)];
  let asked: { readonly model: string; readonly usage: TaskUsage } | undefined;
  const unread = (text: string): Checked => ({ ...skipped(text), ...(asked === undefined ? {} : { asked }) });
  for (let attempt = 0; attempt < 2; attempt++) {
    const spent = { ...task, usage: asked === undefined ? task.usage : sumUsage(task.usage, asked.usage) };
    const call = {
      promptTokens: parts.promptTokens(messages, []),
      wanted: Math.min(verdictTokens, parts.maxOutputTokens),
      price: priceOf(model),
    };
    const allowance = allowanceFor(spent, call, "ROUNDS");
    if (allowance.kind === "none")
      return unread(`The verifier was not asked: ${exhaustedText(task, allowance.limit)}.`);
    const request = { model, messages, maxOutputTokens: allowance.outputTokens };
    const answer = await ask(parts, session, span, request);
    if ("fault" in answer) return unread(`The verifier's model did not answer: ${answer.fault}`);
    const usage = asked === undefined ? answer.usage : sumUsage(asked.usage, answer.usage);
    asked = { model: answer.model, usage };
    const verdict = verdictOf(answer.text);
    if (verdict !== undefined) return { findings: findingsOf(verdict), asked };
    span.event("retry", { text: "The verdict was no JSON of the asked form." });
    if (answer.text !== "") messages.push({ role: "assistant", text: answer.text, toolCalls: [] });
    messages.push({ role: "user", text: repairRequest });
  }
  return unread("The verifier's model gave no verdict that could be read.");
}

type Answer = { readonly text: string; readonly model: string; readonly usage: TaskUsage } | { readonly fault: string };

async function ask(
  { model: gateway, tracer }: VerifyParts,
  { task, control: { signal } }: TaskSession,
  parent: Span,
  request: ModelRequest,
): Promise<Answer> {
  const span = tracer.start({
    tenant: task.tenant,
    name: "judge",
    kind: "model",
    parent: parent.context,
    taskId: task.id,
    attributes: { [attr.operation]: "chat", [attr.requestModel]: request.model },
  });
  span.payload("input", JSON.stringify(request.messages));
  try {
    const reply = await collectDecision(gateway.decide(request, { signal }));
    const text = "text" in reply.decision ? reply.decision.text : "";
    const usage = usageOf(reply);
    span.payload("output", redact(text).text);
    span.end({ attributes: { [attr.responseModel]: reply.model, ...usageAttributes(usage) } });
    return { text, model: reply.model, usage };
  } catch (error) {
    span.end({ error: DroverError.from(error).message });
    if (signal.aborted) throw error;
    return { fault: DroverError.from(error).message };
  }
}

function findingsOf(verdict: Verdict) {
  if (verdict.passed) return [];
  const texts = verdict.findings.length === 0 ? ["The criteria are not fulfilled."] : verdict.findings;
  return texts.map((text) => ({ code: "JUDGED_INSUFFICIENT", text: redact(text).text, blocking: true }));
}
