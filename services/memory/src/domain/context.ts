import { DroverError } from "@drover/kernel";
import type { LoggedMessage, MessageDraft } from "./message.ts";
import { previewOf } from "./preview.ts";
import { spillPointer } from "./spill-pointer.ts";
import { type Unit, unitsOf } from "./units.ts";

/** A message of a context: one of the log, perhaps shortened, or one made for it (sequence 0, no id). */
export type ContextMessage = LoggedMessage;

/** What a context is computed from. */
export interface ContextSource {
  readonly conversationId: string;
  /** The newest messages and the pinned ones, in order of their sequence. */
  readonly messages: readonly LoggedMessage[];
  /** Newest sequence of the log; what is above it is not looked at. */
  readonly throughSequence: number;
}

/** Limits of a context, in tokens. */
export interface ContextLimits {
  readonly windowTokens: number;
  /** What remains of the window after reserve and margin. */
  readonly usableTokens: number;
  /** What the caller adds itself: system prompt, tool schemas. */
  readonly fixedTokens: number;
  /** Characters kept of a tool result that is shortened for this view alone. */
  readonly previewCharacters: number;
}

/** A context and where its tokens went. */
export interface Context {
  readonly messages: readonly ContextMessage[];
  readonly historyTokens: number;
  readonly messagesInContext: number;
  readonly messagesLeftOut: number;
  readonly messagesSpilled: number;
}

/** Tokens that a text adds as a tool message; given by the caller, which has the counter. */
export type CountToolText = (text: string) => number;

/** Tokens that start the model's reply, once a request; the frame of each message is in its own count. */
const replyTokens = 3;

/**
 * Stands where a call has no recorded result. It is neither removed nor taken as failed: removal
 * would hide a side effect that may have happened.
 */
const unknownOutcome =
  "No result of this call is recorded: its outcome is unknown. It may have run, wholly or in part. " +
  "Check its effect before running it again.";

/**
 * The messages to send to a model: every pinned unit and the newest units that fit, in order of the
 * log. Units are kept or left out whole. In the newest unit and in the first one that does not fit, the
 * longest tool results are shortened to previews with a pointer where that makes it fit, for this view alone.
 * FAILED_PRECONDITION with reason BUDGET_UNSATISFIABLE, with a breakdown as metadata, when what must
 * be sent (pinned units and the newest one) is over the budget.
 */
export function buildContext(source: ContextSource, limits: ContextLimits, count: CountToolText): Context {
  const rendered = unitsOf(source.messages).map((unit) => render(unit, count));
  const budget = limits.usableTokens - limits.fixedTokens - replyTokens;
  const newest = rendered.pop();
  if (newest === undefined) return emptyContext(limits, budget);
  const pinned = rendered.filter((unit) => unit.pinned);
  const pinnedTokens = sum(pinned);
  const preview: Preview = (message) => {
    const pointer = spillPointer(source.conversationId, message.toolCallId);
    const text = previewOf(message.text, pointer, limits.previewCharacters);
    return { ...message, text, spillPointer: pointer, tokens: count(text) };
  };
  const last = shrink(newest, budget - pinnedTokens, preview);
  if (pinnedTokens + last.tokens > budget) throw unsatisfiable(limits, pinnedTokens, last.tokens);
  const kept = [...newestThatFit(rendered, budget - pinnedTokens - last.tokens, preview), last];
  const messages = kept.flatMap((unit) => unit.messages);
  const fromLog = messages.filter((message) => message.sequence > 0).length;
  return {
    messages,
    historyTokens: sum(kept) + replyTokens,
    messagesInContext: messages.length,
    messagesLeftOut: source.throughSequence - fromLog,
    messagesSpilled: messages.filter((message) => message.spillPointer !== "").length,
  };
}

interface RenderedUnit {
  readonly messages: readonly ContextMessage[];
  readonly tokens: number;
  readonly pinned: boolean;
}

/** A tool message in its short form. */
type Preview = (message: ContextMessage) => ContextMessage;

function render(unit: Unit, count: CountToolText): RenderedUnit {
  const head = { ...unit.head, toolCalls: unit.head.toolCalls.map((call) => ({ ...call, name: callName(call.name) })) };
  const results = unit.results.map(
    (result) => result.message ?? { ...madeResult(result.callId, head), tokens: count(unknownOutcome) },
  );
  const messages = [head, ...results];
  return { messages, tokens: tokensOf(messages), pinned: unit.head.pinned };
}

/** Models invent tool names; providers refuse to be shown them again. The log keeps the name as it was. */
function callName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "unnamed_tool";
}

function madeResult(callId: string, head: LoggedMessage): ContextMessage {
  const draft: MessageDraft = {
    role: "tool",
    text: unknownOutcome,
    toolCalls: [],
    toolCallId: callId,
    spillPointer: "",
    fullCharacters: unknownOutcome.length,
    clientMessageId: "",
    pinned: false,
    taskId: head.taskId,
  };
  return { ...draft, id: "", sequence: 0, createdAt: head.createdAt, tokens: 0 };
}

/** Shortens the tool results of a unit, the longest first, until it fits or nothing is left to shorten. */
function shrink(unit: RenderedUnit, budget: number, preview: Preview): RenderedUnit {
  const messages = [...unit.messages];
  let tokens = unit.tokens;
  const order = [...messages.entries()].sort(([, a], [, b]) => b.tokens - a.tokens);
  for (const [index, message] of order) {
    if (tokens <= budget) break;
    if (message.role !== "tool" || message.spillPointer !== "") continue;
    const shortened = preview(message);
    if (shortened.tokens >= message.tokens) continue;
    messages[index] = shortened;
    tokens += shortened.tokens - message.tokens;
  }
  return { messages, tokens, pinned: unit.pinned };
}

/** Of the units before the newest: all pinned ones, and an unbroken run of the latest others that fit. */
function newestThatFit(units: readonly RenderedUnit[], budget: number, preview: Preview): RenderedUnit[] {
  const kept: RenderedUnit[] = [];
  let left = budget;
  let open = true;
  for (const unit of units.toReversed()) {
    if (unit.pinned) {
      kept.push(unit);
      continue;
    }
    if (!open) continue;
    open = unit.tokens <= left;
    const fitting = open ? unit : shrink(unit, left, preview);
    if (fitting.tokens > left) continue;
    left -= fitting.tokens;
    kept.push(fitting);
  }
  return kept.reverse();
}

function emptyContext(limits: ContextLimits, budget: number): Context {
  if (budget < 0) throw unsatisfiable(limits, 0, 0);
  return { messages: [], historyTokens: 0, messagesInContext: 0, messagesLeftOut: 0, messagesSpilled: 0 };
}

function unsatisfiable(limits: ContextLimits, pinned: number, newest: number): DroverError {
  const needed = limits.fixedTokens + pinned + newest + replyTokens;
  return new DroverError(
    "FAILED_PRECONDITION",
    `The context needs at least ${needed} tokens (fixed ${limits.fixedTokens}, pinned ${pinned}, newest ${newest}), ` +
      `and ${limits.usableTokens} of the window of ${limits.windowTokens} can be used.`,
    {
      reason: "BUDGET_UNSATISFIABLE",
      metadata: {
        window_tokens: String(limits.windowTokens),
        usable_tokens: String(limits.usableTokens),
        fixed_tokens: String(limits.fixedTokens),
        pinned_tokens: String(pinned),
        newest_tokens: String(newest),
        needed_tokens: String(needed),
      },
    },
  );
}

function sum(units: readonly RenderedUnit[]): number {
  return units.reduce((total, unit) => total + unit.tokens, 0);
}

function tokensOf(messages: readonly ContextMessage[]): number {
  return messages.reduce((total, message) => total + message.tokens, 0);
}
