import { encode } from "gpt-tokenizer/encoding/o200k_base";
import type { Message } from "./message.ts";
import type { ToolSpec } from "./tool-spec.ts";

/** Code points after which a run is cut; see {@link countTokens}. */
const runLimit = 128;
const runs = new RegExp(`[\\p{L}\\p{M}]{1,${runLimit}}|[^\\p{L}\\p{N}]{1,${runLimit}}|\\p{N}+`, "gu");

/** Special tokens in a text are text: a user may write `<|endoftext|>` and it must be counted. */
const asText = { allowedSpecial: new Set<string>(), disallowedSpecial: new Set<string>() };

/**
 * Tokens of a text in o200k_base. The merge loop is quadratic in the length of an unbroken run of
 * letters or of symbols, so a run is cut after 128 code points: the count stays exact for ordinary
 * text, is at most about 1 % high for text without any break, and takes linear time.
 */
export function countTokens(text: string): number {
  let total = 0;
  for (const piece of pieces(text)) total += encode(piece, asText).length;
  return total;
}

function* pieces(text: string): Generator<string> {
  let start = 0;
  for (const match of text.matchAll(runs)) {
    const end = match.index + match[0].length;
    // A run at the limit may go on: cut behind it. Shorter runs stay together with their neighbours.
    if (match[0].length >= runLimit && end < text.length) {
      yield text.slice(start, end);
      start = end;
    }
  }
  if (start < text.length) yield text.slice(start);
}

/** What the chat format adds around a message (OpenAI cookbook, "How to count tokens with tiktoken"). */
const perMessage = 4;
/** What starts the reply, once per request (same source). */
const perReply = 3;
/** Frame of one tool call beside its name and arguments; measured by users, not published. */
const perCall = 8;
/** Frame of one tool declaration beside its JSON, and of the list; the same kind of figure. */
const perTool = 8;
const perToolList = 12;

/** Tokens that one message adds to a prompt. */
export function countMessage(message: Message): number {
  let total = perMessage + countTokens(message.text);
  if (message.role === "assistant") {
    for (const call of message.toolCalls) total += perCall + countTokens(call.name) + countTokens(call.argumentsJson);
  }
  if (message.role === "tool") total += perCall;
  return total;
}

/** Tokens of a whole prompt without its tools. */
export function countMessages(messages: readonly Message[]): number {
  return messages.reduce((total, message) => total + countMessage(message), perReply);
}

/**
 * Tokens that the tools on offer add. Their JSON is counted; providers render it more tightly, so
 * this errs on the high side.
 */
export function countTools(tools: readonly ToolSpec[]): number {
  if (tools.length === 0) return 0;
  return tools.reduce((total, tool) => total + perTool + countTokens(JSON.stringify(tool)), perToolList);
}
