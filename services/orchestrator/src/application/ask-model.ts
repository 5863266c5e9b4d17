import { type Clock, DroverError } from "@drover/kernel";
import { collectDecision, costNanoUsd, type Message, type ModelGateway, type ModelReply } from "@drover/model";
import { redact } from "@drover/redaction";
import { attr, type Span, type Tracer } from "@drover/tracing";
import { lastRoundRequest } from "../domain/final-answer.ts";
import type { NextAction } from "../domain/next-action.ts";
import type { TaskUsage } from "../domain/task.ts";
import { createDeltaFeed } from "./delta-feed.ts";
import { markFed, unfed } from "./feed-memory.ts";
import { withPatience } from "./patience.ts";
import type { ConversationMemory, TaskSignals, ToolBox } from "./ports.ts";
import { systemPrompt } from "./system-prompt.ts";
import { type TaskSession, usageAttributes } from "./task-session.ts";

/** What asking needs. */
export interface AskParts {
  readonly model: ModelGateway;
  readonly memory: ConversationMemory;
  readonly signals: Pick<TaskSignals, "delta">;
  readonly tracer: Tracer;
  readonly tools: ToolBox;
  readonly clock: Clock;
  /** Patience with the memory service, ms. */
  readonly patienceMs: number;
  readonly maxOutputTokens: number;
}

/** A turn of the model with what it took. */
export interface AskedTurn {
  readonly reply: ModelReply;
  readonly usage: TaskUsage;
}

/** How often a turn that broke off in the middle is asked for again. */
const brokenTurns = 2;

/**
 * One question to the model: the context from memory, then the turn, whose text is passed on as it
 * comes. Throws what memory or the model throw when patience is over; CANCELLED after an abort.
 */
export async function askModel(
  parts: AskParts,
  session: TaskSession,
  action: NextAction & { readonly kind: "ask" },
): Promise<AskedTurn> {
  const round = session.roundSpan(action.round);
  const context = await buildContext(parts, session, round);
  const { task } = session;
  const messages: Message[] = [{ role: "system", text: systemPrompt }, ...context];
  if (action.last) messages.push({ role: "user", text: lastRoundRequest(task.maxRounds) });
  const span = parts.tracer.start({
    tenant: task.tenant,
    name: "decide",
    kind: "model",
    parent: round.context,
    taskId: task.id,
    attributes: { [attr.operation]: "chat", [attr.requestModel]: task.model },
  });
  span.payload("input", JSON.stringify(messages));
  try {
    const turn = await turnOf(parts, session, span, messages, action.last);
    span.end({
      attributes: {
        [attr.responseModel]: turn.reply.model,
        [attr.finishReason]: turn.reply.finishReason,
        ...usageAttributes(turn.usage),
      },
    });
    return turn;
  } catch (error) {
    span.end({ error: DroverError.from(error).message });
    throw error;
  }
}

/** The memory service traces its own part; only what it cannot know is told here. */
async function buildContext(parts: AskParts, session: TaskSession, round: Span): Promise<readonly Message[]> {
  const { task, control } = session;
  const append = unfed(session);
  const request = { conversationId: task.conversationId, append, systemPrompt, tools: parts.tools.specs };
  const context = await withPatience(
    { totalMs: parts.patienceMs, clock: parts.clock },
    control.signal,
    () => parts.memory.buildContext(session.scope(round), request, control.signal),
    (error) => round.event("retry", { text: error.message }),
  );
  markFed(session);
  return context;
}

async function turnOf(
  parts: AskParts,
  session: TaskSession,
  span: Span,
  messages: readonly Message[],
  last: boolean,
): Promise<AskedTurn> {
  const { task, control } = session;
  for (let broken = 0; ; broken++) {
    let begun = false;
    const feed = createDeltaFeed(task.id, session.lastStep + 1, parts.clock, (delta) =>
      parts.signals.delta(task.tenant, delta),
    );
    const request = {
      model: task.model,
      messages,
      maxOutputTokens: parts.maxOutputTokens,
      ...(last ? {} : { tools: parts.tools.specs }),
    };
    try {
      const reply = await collectDecision(parts.model.decide(request, { signal: control.signal }), (event) => {
        begun = true;
        feed.accept(event);
      });
      feed.end();
      tellThoughts(span, feed.reasoning, reply);
      return { reply, usage: usageOf(reply) };
    } catch (caught) {
      const error = DroverError.from(caught);
      // Before the first piece the gateway has done all the trying there is to do.
      if (control.signal.aborted || !begun || !error.retryable || broken >= brokenTurns) throw error;
      span.event("retry", { text: error.message });
      await parts.clock.sleep(1_000 * 2 ** broken, control.signal);
    }
  }
}

function tellThoughts(span: Span, reasoning: string, reply: ModelReply): void {
  const { decision } = reply;
  const text = "text" in decision ? decision.text : "";
  const thoughts = [reasoning, decision.kind === "tool_calls" ? text : ""].filter((part) => part.trim() !== "");
  if (thoughts.length > 0) span.event("thinking", { text: thoughts.join("\n\n") });
  const calls =
    decision.kind === "tool_calls" ? decision.toolCalls.map((call) => `${call.name} ${call.argumentsJson}`) : [];
  span.payload("output", redact([text, ...calls].filter((part) => part !== "").join("\n")).text);
}

function usageOf({ usage, model }: ModelReply): TaskUsage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage;
  const cost = costNanoUsd(model, usage) ?? null;
  return { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, costNanoUsd: cost };
}
