import { headOf } from "@drover/kernel";
import {
  addUsage,
  collectDecision,
  costNanoUsd,
  type Message,
  type ModelGateway,
  type ModelReply,
  noUsage,
} from "@drover/model";
import { redact } from "@drover/redaction";
import { attr, type Tracer } from "@drover/tracing";
import { type ReadAnswer, readAnswer, type Shown } from "../domain/extraction-answer.ts";
import { extractionMessages, repairRequest } from "../domain/extraction-question.ts";
import { sourceOf } from "../domain/extraction-source.ts";
import { requireToken } from "../domain/spill-pointer.ts";
import { type Call, inSpan } from "./call.ts";
import type { ExtractionRecord, ExtractionTask, ExtractionUsage, FactStore } from "./fact-ports.ts";

/** What came of a call; `nothing` and `disabled` asked no model. */
export type Extraction =
  | ExtractionRecord
  | { readonly outcome: "disabled" }
  | { readonly outcome: "nothing"; readonly throughSequence: number };

/** Extracts; see the rpc of the same name for the contract. */
export type ExtractFacts = (call: Call, task: ExtractionTask) => Promise<Extraction>;

interface Parts {
  readonly store: FactStore;
  readonly tracer: Tracer;
  /** Undefined: extraction is off. */
  readonly model: ModelGateway | undefined;
}

/** Questions for one answer that can be read. */
const questions = 2;
const answerTokens = 2_048;
const agentCharacters = 128;

/** Makes {@link ExtractFacts}. */
export function createExtractFacts({ store, tracer, model }: Parts): ExtractFacts {
  return async (call, task) => {
    requireToken("conversation_id", task.conversationId);
    requireToken("task_id", task.taskId);
    if (model === undefined) return { outcome: "disabled" };
    const { owner, signal } = call;
    const bounded = { ...task, agent: headOf(task.agent, agentCharacters) };
    const { messages, known, throughSequence, before } = await store.source(owner, bounded, signal);
    const source = sourceOf(messages);
    if (source.length === 0) return before ?? { outcome: "nothing", throughSequence };
    const shown = {
      known: known.length,
      sequences: new Set(source.map(({ sequence }) => sequence)),
      agent: bounded.agent,
    };
    const question = extractionMessages(source, known, bounded.agent);
    const answered = await new Asking({ tracer, model }, call, shown).ask(question);
    return await store.keep(owner, bounded, { ...answered, throughSequence, known }, signal);
  };
}

interface Answered {
  readonly answer: ReadAnswer;
  readonly model: string;
  readonly usage: ExtractionUsage;
}

/** One extraction's questions: what they cost is told whatever they come to. */
class Asking {
  readonly #parts: { readonly tracer: Tracer; readonly model: ModelGateway };
  readonly #call: Call;
  readonly #shown: Shown;
  #usage = noUsage;
  #cost: number | null = 0;
  #model = "";

  constructor(parts: { readonly tracer: Tracer; readonly model: ModelGateway }, call: Call, shown: Shown) {
    this.#parts = parts;
    this.#call = call;
    this.#shown = shown;
  }

  async ask(question: readonly Message[]): Promise<Answered> {
    const messages = [...question];
    let answer: ReadAnswer = { fault: "" };
    for (let asked = 0; asked < questions; asked++) {
      const reply = await this.#question(messages).catch((error: unknown) => {
        // What was paid for is kept: the first answer could not be read, and there will be no better one now.
        if (asked === 0 || this.#call.signal.aborted) throw error;
        return undefined;
      });
      if (reply === undefined) break;
      const { decision } = reply;
      const text = "text" in decision ? decision.text : "";
      answer =
        decision.kind === "final" ? readAnswer(text, this.#shown) : { fault: `The model's turn was ${decision.kind}.` };
      if (!("fault" in answer)) break;
      if (text !== "") messages.push({ role: "assistant", text, toolCalls: [] });
      messages.push({ role: "user", text: repairRequest(answer.fault) });
    }
    return { answer, model: this.#model, usage: usageOf(this.#usage, this.#cost) };
  }

  async #question(messages: readonly Message[]): Promise<ModelReply> {
    const start = {
      name: "extract facts",
      kind: "model",
      attributes: { [attr.operation]: "chat", [attr.role]: "memory" },
    } as const;
    return await inSpan(this.#parts.tracer, this.#call, start, async (span) => {
      span?.payload("input", JSON.stringify(messages));
      const stream = this.#parts.model.decide(
        { messages, maxOutputTokens: answerTokens },
        { signal: this.#call.signal },
      );
      const reply = await collectDecision(stream);
      const cost = costNanoUsd(reply.model, reply.usage) ?? null;
      this.#usage = addUsage(this.#usage, reply.usage);
      this.#cost = this.#cost === null || cost === null ? null : this.#cost + cost;
      this.#model = reply.model;
      span?.payload("output", redact("text" in reply.decision ? reply.decision.text : "").text);
      span?.set({
        [attr.responseModel]: reply.model,
        [attr.finishReason]: reply.finishReason,
        [attr.inputTokens]: reply.usage.inputTokens,
        [attr.outputTokens]: reply.usage.outputTokens,
        [attr.cachedInputTokens]: reply.usage.cachedInputTokens,
        [attr.reasoningTokens]: reply.usage.reasoningTokens,
        [attr.costNanoUsd]: cost ?? undefined,
      });
      return reply;
    });
  }
}

function usageOf({ estimated: _, ...tokens }: typeof noUsage, costNanoUsd: number | null): ExtractionUsage {
  return { ...tokens, costNanoUsd };
}
