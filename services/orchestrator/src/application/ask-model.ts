import { type Clock, DroverError } from "@drover/kernel";
import {
  collectDecision,
  costNanoUsd,
  type Message,
  type ModelGateway,
  type ModelReply,
  type ModelRequest,
  priceOf,
  type ToolSpec,
} from "@drover/model";
import { redact } from "@drover/redaction";
import { attr, type Span, type Tracer } from "@drover/tracing";
import { agentOf } from "../domain/agent.ts";
import { allowanceFor, type BudgetKind, exhaustedReason, exhaustedText } from "../domain/budget.ts";
import { lastAnswerRequest } from "../domain/final-answer.ts";
import type { NextAction } from "../domain/next-action.ts";
import type { TaskUsage } from "../domain/task.ts";
import { createDeltaFeed } from "./delta-feed.ts";
import { markFed, unfed } from "./feed-memory.ts";
import { throughModel } from "./middleware.ts";
import type { Middleware } from "./middleware-ports.ts";
import { offered } from "./offered-tools.ts";
import { withPatience } from "./patience.ts";
import type { ConversationMemory, TaskSignals } from "./ports.ts";
import { systemPromptOf } from "./system-prompt.ts";
import { type TaskSession, usageAttributes } from "./task-session.ts";
import type { ToolBox } from "./tool-ports.ts";

/** What asking needs. */
export interface AskParts {
  readonly model: ModelGateway;
  readonly memory: ConversationMemory;
  readonly signals: Pick<TaskSignals, "delta">;
  readonly tracer: Tracer;
  readonly tools: ToolBox;
  readonly middleware?: readonly Middleware[];
  readonly clock: Clock;
  /** Patience with the memory service, ms. */
  readonly patienceMs: number;
  /** What the context keeps free for a turn; no turn is asked for more. */
  readonly maxOutputTokens: number;
  /** Tokens of a prompt with its tools. */
  readonly promptTokens: (messages: readonly Message[], tools: readonly ToolSpec[]) => number;
}

/** A turn of the model with what it took. */
export interface AskedTurn {
  readonly reply: ModelReply;
  readonly usage: TaskUsage;
  /** The budget that left this turn the last one, without tools. */
  readonly limit: BudgetKind | undefined;
}

/** How often a turn that broke off in the middle is asked for again. */
const brokenTurns = 2;

/**
 * One question to the model: the context from memory, then the turn, whose text is passed on as it
 * comes. What it may use up is reserved before it is asked; where that leaves no further round, it is asked for its
 * answer, without tools. Throws what memory or the model throw when patience is over; CANCELLED after an abort;
 * RESOURCE_EXHAUSTED with reason BUDGET_EXHAUSTED_… where nothing can be asked any more.
 */
export async function askModel(
  parts: AskParts,
  session: TaskSession,
  action: NextAction & { readonly kind: "ask" },
): Promise<AskedTurn> {
  const round = session.roundSpan(action.round);
  const context = await buildContext(parts, session, round);
  const { task } = session;
  const agent = agentOf(task);
  const prompt: Message[] = [{ role: "system", text: systemPromptOf(agent.prompt) }, ...context];
  const tools = offered(parts.tools.specs, agent.tools);
  const { limit, outputTokens } = reserve(parts, session, action.limit, prompt, tools);
  const question = limit === undefined ? [] : [{ role: "user" as const, text: lastAnswerRequest(task, limit) }];
  const messages = [...prompt, ...question];
  const span = parts.tracer.start({
    tenant: task.tenant,
    name: "decide",
    kind: "model",
    parent: round.context,
    taskId: task.id,
    attributes: { [attr.operation]: "chat", [attr.requestModel]: task.model },
  });
  span.payload("input", () => JSON.stringify(messages));
  try {
    const request = { model: task.model, messages, maxOutputTokens: outputTokens };
    const turn = await hookedTurn(parts, session, span, limit === undefined ? { ...request, tools } : request);
    span.end({
      attributes: {
        [attr.responseModel]: turn.reply.model,
        [attr.finishReason]: turn.reply.finishReason,
        ...usageAttributes(turn.usage),
      },
    });
    return { ...turn, limit };
  } catch (error) {
    span.end({ error: DroverError.from(error).message });
    throw error;
  }
}

/** The memory service traces its own part; only what it cannot know is told here. */
async function buildContext(parts: AskParts, session: TaskSession, round: Span): Promise<readonly Message[]> {
  const { task, control } = session;
  const append = unfed(session);
  const agent = agentOf(task);
  const request = {
    conversationId: task.conversationId,
    append,
    systemPrompt: systemPromptOf(agent.prompt),
    tools: offered(parts.tools.specs, agent.tools),
  };
  const context = await withPatience(
    { totalMs: parts.patienceMs, clock: parts.clock },
    control.signal,
    () => parts.memory.buildContext(session.scope(round), request, control.signal),
    (error) => round.event("retry", { text: error.message }),
  );
  markFed(session);
  return context;
}

/** A turn with what the middleware does before and after it. */
function hookedTurn(parts: AskParts, session: TaskSession, span: Span, request: ModelRequest) {
  const { task, control } = session;
  const work = {
    ...{ scope: session.scope(span), agent: task.agent, signal: control.signal },
    note: (text: string) => span.event("note", { text }),
  };
  return throughModel(parts.middleware ?? [], work, request, (sent) => turnOf(parts, session, span, sent));
}

async function turnOf(
  parts: AskParts,
  session: TaskSession,
  span: Span,
  request: ModelRequest,
): Promise<Omit<AskedTurn, "limit">> {
  const { task, control } = session;
  for (let broken = 0; ; broken++) {
    let begun = false;
    const feed = createDeltaFeed(task.id, session.lastStep + 1, parts.clock, (delta) =>
      parts.signals.delta(task.tenant, delta),
    );
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

/** The smaller of what the task's budgets and the context leave for a turn. */
function reserve(
  parts: AskParts,
  { task }: TaskSession,
  forced: BudgetKind | undefined,
  messages: readonly Message[],
  tools: readonly ToolSpec[],
): { readonly limit: BudgetKind | undefined; readonly outputTokens: number } {
  const wanted = Math.min(parts.maxOutputTokens, task.budgets.outputTokens || parts.maxOutputTokens);
  const counted = task.budgets.tokens > 0 || task.budgets.costNanoUsd > 0;
  const promptTokens = counted ? parts.promptTokens(messages, tools) : 0;
  const allowance = allowanceFor(task, { promptTokens, wanted, price: priceOf(task.model) }, forced);
  if (allowance.kind === "round") return { limit: undefined, outputTokens: allowance.outputTokens };
  if (allowance.kind === "last") return allowance;
  const unpriced = allowance.limit === "COST" && priceOf(task.model) === undefined;
  const why = unpriced
    ? `the price of ${task.model} is not known, so that no cost can be kept under a limit`
    : `what is left of it is not enough for another call of the model`;
  throw new DroverError(
    "RESOURCE_EXHAUSTED",
    `The task has reached ${exhaustedText(task, allowance.limit)} without a final answer: ${why}.`,
    { reason: exhaustedReason(allowance.limit), retryable: false },
  );
}

function tellThoughts(span: Span, reasoning: string, reply: ModelReply): void {
  const { decision } = reply;
  const text = "text" in decision ? decision.text : "";
  const thoughts = [reasoning, decision.kind === "tool_calls" ? text : ""].filter((part) => part.trim() !== "");
  if (thoughts.length > 0) span.event("thinking", { text: thoughts.join("\n\n") });
  const calls =
    decision.kind === "tool_calls" ? decision.toolCalls.map((call) => `${call.name} ${call.argumentsJson}`) : [];
  span.payload("output", redact([text, ...calls].filter((part) => part !== "").join("\n")).text);
  const written =
    decision.kind === "tool_calls" ? decision.toolCalls.filter(({ recovered }) => recovered === true) : [];
  for (const { name } of written)
    span.event("note", { text: `A call of ${name} stood in the text and was taken as one.` });
  for (const name of reply.stripped ?? []) {
    span.event("note", { text: `A call of ${name}, which is not on offer, stood in the text and was left out.` });
  }
}

/** What a reply took, and what it cost where the price is known. */
export function usageOf({ usage, model }: ModelReply): TaskUsage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens } = usage;
  const cost = costNanoUsd(model, usage) ?? null;
  return { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, costNanoUsd: cost };
}
