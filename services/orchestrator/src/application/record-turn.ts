import { headOf } from "@drover/kernel";
import { isToolName } from "@drover/model";
import { redact } from "@drover/redaction";
import { agentOf } from "../domain/agent.ts";
import { type BudgetKind, exhaustedReason, exhaustedText } from "../domain/budget.ts";
import { markedAnswer, nudgeAfter } from "../domain/final-answer.ts";
import { isStuck, type NextAction } from "../domain/next-action.ts";
import { recordedCalls, type Step } from "../domain/step.ts";
import type { AskedTurn } from "./ask-model.ts";
import { budgetNotice } from "./budget-notice.ts";
import { digest } from "./digest.ts";
import { failTask } from "./end-task.ts";
import { gateCalls } from "./gate-calls.ts";
import type { Intent, TaskChange } from "./ports.ts";
import { commitJudged, type RuleParts } from "./read-rules.ts";
import type { TaskSession } from "./task-session.ts";
import type { ToolBox } from "./tool-ports.ts";

/** Characters of redacted arguments that an event, and an approval, shows. */
export const argumentsPreview = 4_096;

/** What recording a turn needs. */
export interface RecordParts extends RuleParts {
  readonly tools: ToolBox;
  readonly maxCalls: number;
}

/** Commits a turn of the model with everything that follows from it: intents, the answer, or a word of correction. */
export async function recordTurn(
  parts: RecordParts,
  session: TaskSession,
  action: NextAction & { readonly kind: "ask" },
  turn: AskedTurn,
): Promise<void> {
  const { decision } = turn.reply;
  const step = stepOf(session, action, turn, parts.tools.pins ?? {});
  const intents = await intentsOf(turn, step.seq);
  const change = changeOf(session, action, { turn, step, intents });
  // A question without tools that was not answered is no round to go on from.
  const { limit } = turn;
  const unanswered = limit !== undefined && decision.kind !== "final";
  const stuck = isStuck({ ...session.log, steps: [...session.log.steps, step] });
  switch (decision.kind) {
    case "final": {
      const answer = markedAnswer(redact(decision.text).text, session.task, limit);
      const reason = limit === undefined ? "" : exhaustedReason(limit);
      await session.commit({
        ...change,
        answer,
        state: { to: "VERIFYING", actor: "worker", reason, input: "model_answered" },
      });
      return;
    }
    case "tool_calls":
      if (unanswered) return unansweredEnd(session, change, limit, "it asked for tools again");
      return commitGated(parts, session, change, intents);
    case "empty":
    case "length": {
      const what = decision.kind === "empty" ? "its turn was empty" : "its turn was cut at the output limit";
      if (unanswered) return unansweredEnd(session, partly(session, change, turn), limit, what);
      if (stuck) {
        return failTask(
          session,
          "MODEL_OUTPUT_UNUSABLE",
          `The model gave nothing to work with twice: ${what}.`,
          change,
        );
      }
      const nudge: Step = {
        seq: step.seq + 1,
        round: step.round,
        body: { kind: "nudge", text: nudgeAfter(decision.kind) },
      };
      await session.commit({ ...change, steps: [step, nudge] });
      session.endRound(what);
      return;
    }
    case "refusal":
      return failTask(
        session,
        "MODEL_REFUSED",
        `The model declined: ${headOf(redact(decision.text).text, 1_000)}`,
        change,
      );
    case "content_filter":
      return failTask(session, "CONTENT_FILTERED", "The model's provider stopped the answer by its filter.", change);
  }
}

/** Commits the turn with its calls judged by the rules of now; what waits for somebody is in the same commit. */
async function commitGated(
  parts: RecordParts,
  session: TaskSession,
  change: TaskChange,
  intents: readonly Intent[],
): Promise<void> {
  const { task } = session;
  await commitJudged(parts, session, (judge) => {
    const judged = gateCalls(parts, { agent: task.agent, offered: agentOf(task).tools, judge }, intents);
    return { ...change, ...judged, events: [...(change.events ?? []), ...(judged.events ?? [])] };
  });
}

function unansweredEnd(session: TaskSession, change: TaskChange, limit: BudgetKind, what: string): Promise<void> {
  const message = `The task has reached ${exhaustedText(session.task, limit)} and the model gave no final answer: ${what}.`;
  return failTask(session, exhaustedReason(limit), message, change);
}

/** What there is of an answer that was cut is kept. */
function partly(session: TaskSession, change: TaskChange, { reply, limit }: AskedTurn): TaskChange {
  const { decision } = reply;
  if (decision.kind !== "length" || decision.text.trim() === "") return change;
  return { ...change, answer: markedAnswer(redact(decision.text).text, session.task, limit) };
}

function stepOf(
  session: TaskSession,
  action: NextAction & { readonly kind: "ask" },
  { reply, usage, limit }: AskedTurn,
  pins: Readonly<Record<string, string>>,
): Step {
  const { decision } = reply;
  return {
    seq: session.lastStep + 1,
    round: action.round,
    body: {
      kind: "turn",
      text: "text" in decision ? redact(decision.text).text : "",
      model: reply.model,
      finishReason: reply.finishReason,
      decision: decision.kind,
      usage,
      role: "agent",
      last: limit !== undefined,
      ...(Object.keys(pins).length === 0 || limit !== undefined ? {} : { pins }),
    },
  };
}

function changeOf(
  session: TaskSession,
  action: NextAction & { readonly kind: "ask" },
  { turn, step, intents }: { readonly turn: AskedTurn; readonly step: Step; readonly intents: readonly Intent[] },
): TaskChange {
  const text = step.body.kind === "turn" ? step.body.text : "";
  const message = {
    type: "assistant_message",
    step: step.seq,
    text,
    model: turn.reply.model,
    usage: turn.usage,
  } as const;
  const requested = intents.map(
    ({ callId, tool, argumentsPreview: preview, ordinal }) =>
      ({ type: "tool_call_requested", callId, tool, argumentsPreview: preview, ordinal }) as const,
  );
  const { limit } = turn;
  const words = limit === undefined ? "" : `The task has reached ${exhaustedText(session.task, limit)}.`;
  const events = limit === undefined ? [message, ...requested] : [...budgetNotice(session, words), message];
  return { round: action.round, usage: turn.usage, steps: [step], events };
}

async function intentsOf({ reply }: AskedTurn, stepSeq: number): Promise<Intent[]> {
  if (reply.decision.kind !== "tool_calls") return [];
  const calls = reply.decision.toolCalls.slice(0, recordedCalls);
  return await Promise.all(
    calls.map(async (call, ordinal) => ({
      callId: call.callId,
      stepSeq,
      ordinal,
      providerCallId: headOf(call.providerCallId, 256),
      // A name that no provider accepts would make the whole history unusable; the call fails as an unknown tool.
      tool: isToolName(call.name) ? call.name : call.name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed",
      arguments: call.argumentsJson,
      argumentsHash: await digest(call.argumentsJson),
      argumentsPreview: headOf(redact(call.argumentsJson).text, argumentsPreview),
      policyEffect: "allow" as const,
      policyRule: "",
      allowedCommands: [],
    })),
  );
}
