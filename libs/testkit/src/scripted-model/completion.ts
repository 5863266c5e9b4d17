import { newId } from "@drover/kernel";
import { countTokens } from "@drover/model/tokens";
import type { ScriptedTurn, WireMessage, WireToolCall } from "./script.ts";

/** A finished turn with everything that both the streamed and the whole answer need. */
export interface Completion {
  readonly id: string;
  readonly created: number;
  readonly model: string;
  readonly text: string;
  readonly reasoning: string;
  readonly toolCalls: readonly WireToolCall[];
  readonly finishReason: string;
  readonly usage: Readonly<Record<string, unknown>>;
}

/** Turns what a script said into a completion: ids, finish reason and counted usage. */
export function completionOf(turn: ScriptedTurn, model: string, promptTokens: number): Completion {
  const toolCalls = (turn.toolCalls ?? []).map(
    (call): WireToolCall => ({
      id: `call_${newId().replaceAll("-", "").slice(-24)}`,
      type: "function",
      function: {
        name: call.name,
        arguments: typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments),
      },
    }),
  );
  const reasoningTokens = countTokens(turn.reasoning ?? "");
  const spoken = [turn.text ?? "", ...toolCalls.flatMap((call) => [call.function.name, call.function.arguments])];
  const completionTokens = reasoningTokens + spoken.reduce((sum, text) => sum + countTokens(text), 0);
  return {
    id: `chatcmpl-${newId()}`,
    created: Math.floor(Date.now() / 1_000),
    model,
    text: turn.text ?? "",
    reasoning: turn.reasoning ?? "",
    toolCalls,
    finishReason: turn.finishReason ?? (toolCalls.length > 0 ? "tool_calls" : "stop"),
    usage: {
      prompt_tokens: promptTokens,
      completion_tokens: completionTokens,
      total_tokens: promptTokens + completionTokens,
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: reasoningTokens },
    },
  };
}

/** Tokens of a request: its messages and tools as JSON text, with the frame of each message. */
export function promptTokens(messages: readonly WireMessage[], tools: unknown): number {
  const frame = 4;
  const texts = messages.map(
    (message) => frame + countTokens(typeof message.content === "string" ? message.content : ""),
  );
  const calls = messages.map((message) => (message.tool_calls ? countTokens(JSON.stringify(message.tool_calls)) : 0));
  return [...texts, ...calls].reduce(
    (sum, count) => sum + count,
    tools === undefined ? 3 : countTokens(JSON.stringify(tools)),
  );
}

/** The answer as one JSON document. */
export function wholeAnswer(completion: Completion): string {
  const { id, created, model, text, toolCalls, finishReason, usage, reasoning } = completion;
  const message = {
    role: "assistant",
    content: text === "" ? null : text,
    ...(reasoning === "" ? {} : { reasoning_content: reasoning }),
    ...(toolCalls.length === 0 ? {} : { tool_calls: toolCalls }),
  };
  const choices = [{ index: 0, message, finish_reason: finishReason }];
  return JSON.stringify({ id, object: "chat.completion", created, model, choices, usage });
}

/** The answer as the frames of an event stream, the closing `[DONE]` included. */
export function* answerFrames(completion: Completion, includeUsage: boolean): Generator<string> {
  const { id, created, model, usage, finishReason } = completion;
  const frame = (rest: object) =>
    `data: ${JSON.stringify({ id, object: "chat.completion.chunk", created, model, ...rest })}\n\n`;
  const chunk = (delta: object, finish: string | null = null) =>
    frame({ choices: [{ index: 0, delta, finish_reason: finish }], ...(includeUsage ? { usage: null } : {}) });
  for (const delta of deltas(completion)) yield chunk(delta);
  yield chunk({}, finishReason);
  if (includeUsage) yield frame({ choices: [], usage });
  yield "data: [DONE]\n\n";
}

function* deltas(completion: Completion): Generator<object> {
  yield { role: "assistant", content: completion.toolCalls.length > 0 && completion.text === "" ? null : "" };
  for (const piece of pieces(completion.reasoning)) yield { reasoning_content: piece };
  for (const piece of pieces(completion.text)) yield { content: piece };
  for (const [index, call] of completion.toolCalls.entries()) {
    yield {
      tool_calls: [{ index, id: call.id, type: "function", function: { name: call.function.name, arguments: "" } }],
    };
    for (const piece of pieces(call.function.arguments))
      yield { tool_calls: [{ index, function: { arguments: piece } }] };
  }
}

/** Pieces of uneven size that cut words, numbers and escapes, as token boundaries do; never a surrogate pair. */
function* pieces(text: string): Generator<string> {
  const characters = Array.from(text);
  const sizes = [3, 7, 1, 11, 5, 16, 2];
  for (let start = 0, turn = 0; start < characters.length; turn++) {
    const size = sizes[turn % sizes.length] ?? 1;
    yield characters.slice(start, start + size).join("");
    start += size;
  }
}
