import { DroverError, newId } from "@drover/kernel";
import { decisionOf } from "../decision.ts";
import type { ModelEvent, ModelReply } from "../gateway.ts";
import type { WrittenCall } from "../markup/family.ts";
import { MarkupFilter, withoutMarkup } from "../markup/markup-filter.ts";
import type { ToolCall } from "../message.ts";
import type { ModelUsage } from "../usage.ts";
import { ReasoningTags } from "./reasoning-tags.ts";
import { ToolCallAssembly, type ToolCallDelta } from "./tool-call-assembly.ts";
import { usageOf } from "./wire-usage.ts";

/** A streamed chunk; every part may be missing or null. */
export interface WireChunk {
  readonly model?: unknown;
  readonly usage?: unknown;
  readonly choices?: readonly (WireChoice | null)[] | null;
}

interface WireChoice {
  readonly index?: number | null;
  readonly delta?: Readonly<Record<string, unknown>> | null;
  readonly finish_reason?: string | null;
}

/**
 * Characters of one turn, all its parts together. Beyond it no part of Drover could take it: as UTF-8 the turn must fit
 * into a message of 4 MiB.
 */
const mostCharacters = 1_300_000;

/** Reads the chunks of one turn: turns each into events and gathers what the reply needs. */
export class TurnReader {
  readonly #calls = new ToolCallAssembly();
  readonly #content = new ReasoningTags();
  readonly #offered: ReadonlySet<string>;
  readonly #shown: MarkupFilter;
  #refusal = "";
  #reasoning = "";
  #argumentText = "";
  #finishReason: string | undefined;
  #usage: ModelUsage | undefined;
  #model = "";
  #characters = 0;

  /** `offered` are the names of the tools that the model was told of. */
  constructor(offered: readonly string[]) {
    this.#offered = new Set(offered);
    this.#shown = new MarkupFilter(this.#offered);
  }

  /**
   * The events of one chunk, in order. Only the choice 0 is read. FAILED_PRECONDITION with reason
   * MODEL_OUTPUT_TOO_LONG where the turn is longer than anybody could use.
   */
  *read(chunk: WireChunk): Generator<ModelEvent> {
    if (typeof chunk.model === "string" && chunk.model !== "") this.#model = chunk.model;
    this.#usage = usageOf(chunk.usage) ?? this.#usage;
    const choice = chunk.choices?.find((candidate) => (candidate?.index ?? 0) === 0);
    if (choice === undefined || choice === null) return;
    if (choice.delta) yield* this.#delta(choice.delta);
    if (choice.finish_reason) this.#finishReason = choice.finish_reason;
  }

  /** True once the provider said that the turn is over; without it nothing of the turn may be used. */
  get finished(): boolean {
    return this.#finishReason !== undefined;
  }

  /** The last event. `estimate` counts the tokens of a text; it is used when no usage was reported. */
  reply(requestedModel: string, promptTokens: () => number, estimate: (text: string) => number): ModelReply {
    const finishReason = this.#finishReason ?? "";
    const { text: whole, reasoning } = this.#content.finish();
    const { text, calls, stripped } = withoutMarkup(whole, this.#offered);
    const made = this.#calls.finish();
    const toolCalls = made.length > 0 ? made : calls.map(recoveredCall);
    const turn = { text, refusal: this.#refusal, toolCalls, finishReason };
    return {
      type: "decision",
      decision: decisionOf(turn),
      usage: this.#usage ?? this.#estimated(promptTokens, estimate, whole, reasoning),
      model: this.#model === "" ? requestedModel : this.#model,
      finishReason,
      ...(stripped.length === 0 ? {} : { stripped }),
    };
  }

  *#delta(delta: Readonly<Record<string, unknown>>): Generator<ModelEvent> {
    const reasoning = reasoningOf(delta);
    if (reasoning !== "") {
      this.#count(reasoning);
      this.#reasoning += reasoning;
      yield { type: "reasoning", text: reasoning };
    }
    const content = textOf(delta.content);
    this.#count(content);
    for (const piece of this.#content.push(content)) {
      const text = piece.kind === "text" ? this.#shown.push(piece.text) : piece.text;
      if (text !== "") yield { type: piece.kind, text };
    }
    const refusal = textOf(delta.refusal);
    this.#count(refusal);
    this.#refusal += refusal;
    const calls = Array.isArray(delta.tool_calls) ? (delta.tool_calls as (ToolCallDelta | null)[]) : [];
    for (const call of calls) {
      const added = call === null ? undefined : this.#calls.add(call);
      if (added === undefined) continue;
      this.#count(added.argumentsDelta);
      this.#argumentText += added.argumentsDelta;
      yield { type: "tool_call", ...added };
    }
  }

  #count(piece: string): void {
    this.#characters += piece.length;
    if (this.#characters <= mostCharacters) return;
    throw new DroverError("FAILED_PRECONDITION", `The model's turn is longer than ${mostCharacters} characters.`, {
      reason: "MODEL_OUTPUT_TOO_LONG",
    });
  }

  #estimated(
    promptTokens: () => number,
    estimate: (text: string) => number,
    text: string,
    reasoning: string,
  ): ModelUsage {
    const reasoningTokens = estimate(this.#reasoning + reasoning);
    const outputTokens = reasoningTokens + estimate(text) + estimate(this.#refusal) + estimate(this.#argumentText);
    return { inputTokens: promptTokens(), outputTokens, cachedInputTokens: 0, reasoningTokens, estimated: true };
  }
}

/** A call that stood in the text, as one that was made. */
function recoveredCall({ name, args }: WrittenCall): ToolCall {
  const providerCallId = `call_${newId()}`;
  return { callId: newId(), providerCallId, name, argumentsJson: JSON.stringify(args), recovered: true };
}

/** Text as a string or as an array of text parts. */
function textOf(content: unknown): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("");
}

/** The first of the fields that providers use for reasoning; some send the same text in two of them. */
function reasoningOf(delta: Readonly<Record<string, unknown>>): string {
  return textOf(delta.reasoning_content) || textOf(delta.reasoning) || textOf(delta.reasoning_details);
}
