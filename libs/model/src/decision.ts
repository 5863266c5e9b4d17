import { DroverError } from "@drover/kernel";
import type { ModelEvent, ModelReply } from "./gateway.ts";
import type { ToolCall } from "./message.ts";

/**
 * What a model turn amounts to. It is decided on the content, not on the finish reason alone,
 * because providers report reasons that do not fit what they sent.
 */
export type ModelDecision =
  /** The answer. `text` is not empty. */
  | { readonly kind: "final"; readonly text: string }
  /** Calls to run, in the order the model gave them; at least one. `text` may be empty. */
  | { readonly kind: "tool_calls"; readonly text: string; readonly toolCalls: readonly ToolCall[] }
  /** The model declined; `text` is its reason. */
  | { readonly kind: "refusal"; readonly text: string }
  /** Cut at the output limit. Calls of such a turn are incomplete and are dropped. */
  | { readonly kind: "length"; readonly text: string }
  /** Stopped by the provider's filter. */
  | { readonly kind: "content_filter"; readonly text: string }
  /** Neither text nor calls nor a refusal. */
  | { readonly kind: "empty" };

/** What was gathered of a turn when its stream ended properly. */
export interface TurnContent {
  readonly text: string;
  readonly refusal: string;
  readonly toolCalls: readonly ToolCall[];
  /** The provider's finish reason, unchanged. */
  readonly finishReason: string;
}

/** The decision a finished turn amounts to; see {@link ModelDecision} for the rules. */
export function decisionOf(turn: TurnContent): ModelDecision {
  if (turn.finishReason === "length" || turn.finishReason === "max_tokens") return { kind: "length", text: turn.text };
  if (turn.finishReason === "content_filter") return { kind: "content_filter", text: turn.text };
  if (turn.toolCalls.length > 0) return { kind: "tool_calls", text: turn.text, toolCalls: turn.toolCalls };
  if (turn.refusal !== "") return { kind: "refusal", text: turn.refusal };
  return turn.text.trim() === "" ? { kind: "empty" } : { kind: "final", text: turn.text };
}

/**
 * Reads a stream of {@link ModelEvent} to its end and returns the reply; `onEvent` sees every event
 * before it. Rejects with what the stream throws, and with UNAVAILABLE when it ends without a decision.
 */
export async function collectDecision(
  stream: AsyncIterable<ModelEvent>,
  onEvent?: (event: ModelEvent) => void,
): Promise<ModelReply> {
  let reply: ModelReply | undefined;
  for await (const event of stream) {
    onEvent?.(event);
    if (event.type === "decision") reply = event;
  }
  if (reply === undefined) {
    throw new DroverError("UNAVAILABLE", "The model's answer ended before it was complete.", {
      reason: "MODEL_STREAM_INCOMPLETE",
    });
  }
  return reply;
}
