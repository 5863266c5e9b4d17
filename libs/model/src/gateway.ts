import type { ModelDecision } from "./decision.ts";
import type { Message } from "./message.ts";
import type { ToolSpec } from "./tool-spec.ts";
import type { ModelUsage } from "./usage.ts";

/** One turn to be asked of a model. */
export interface ModelRequest {
  /** The model's name; without it the gateway's default. */
  readonly model?: string;
  readonly messages: readonly Message[];
  /** The tools on offer; empty or absent means that the model can only answer. */
  readonly tools?: readonly ToolSpec[];
  /** Default `auto`. `none` keeps the tools in the prompt but forbids calls. */
  readonly toolChoice?: "auto" | "none" | "required";
  /** 0 to 2; without it the provider's default. */
  readonly temperature?: number;
  /** Cap on generated tokens, reasoning included; without it the provider's default. */
  readonly maxOutputTokens?: number;
}

/** The end of a turn: what it amounts to and what it took. */
export interface ModelReply {
  readonly type: "decision";
  readonly decision: ModelDecision;
  readonly usage: ModelUsage;
  /** The model that answered, as the provider names it; the requested name where it says nothing. */
  readonly model: string;
  /** The provider's finish reason, unchanged; for traces only. */
  readonly finishReason: string;
  /** Names of tools, none of them on offer, whose calls stood in the text and were left out of it. */
  readonly stripped?: readonly string[];
}

/** What a turn sends while it runs. Deltas are for display; the reply supersedes them. */
export type ModelEvent =
  | { readonly type: "text"; readonly text: string }
  /** Reasoning the provider shows; never part of the answer. */
  | { readonly type: "reasoning"; readonly text: string }
  /** A piece of the arguments of the `index`-th call of this turn; `name` is empty until known. */
  | { readonly type: "tool_call"; readonly index: number; readonly name: string; readonly argumentsDelta: string }
  | ModelReply;

/** A model that can be asked for its next turn. */
export interface ModelGateway {
  /**
   * Asks for one turn and streams it; the last event is always the `decision`. Leaving the iteration
   * or aborting `signal` closes the connection to the provider.
   *
   * Throws INVALID_ARGUMENT for a request the provider refuses (reason `CONTEXT_LENGTH_EXCEEDED` when
   * the prompt is too long), FAILED_PRECONDITION for bad credentials or an unknown model,
   * RESOURCE_EXHAUSTED when the provider limits the rate, UNAVAILABLE when it cannot be reached or
   * breaks off, DEADLINE_EXCEEDED after the configured time-outs, CANCELLED after an abort.
   */
  decide(request: ModelRequest, options: { readonly signal: AbortSignal }): AsyncIterable<ModelEvent>;
}
