import type { Message, ToolSpec } from "@drover/model";
import { countMessages, countTools } from "@drover/model/tokens";

/** Tokens of a prompt with its tools, by the tokeniser of the current OpenAI models; a few off for others. */
export function promptTokens(messages: readonly Message[], tools: readonly ToolSpec[]): number {
  return countMessages(messages) + (tools.length === 0 ? 0 : countTools(tools));
}
