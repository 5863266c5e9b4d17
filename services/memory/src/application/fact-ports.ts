import type { FactChange } from "../domain/extraction-answer.ts";
import type { Fact, FactScope } from "../domain/fact.ts";
import type { FactCounts } from "../domain/fact-plan.ts";
import type { LoggedMessage } from "../domain/message.ts";
import type { Owner } from "./ports.ts";

/** Tokens and money of the questions of an extraction. */
export interface ExtractionUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly reasoningTokens: number;
  /** Null where the model has no known price. */
  readonly costNanoUsd: number | null;
}

/** A task of a conversation, and the agent that worked on it (empty for none). */
export interface ExtractionTask {
  readonly conversationId: string;
  readonly taskId: string;
  readonly agent: string;
}

/** What an extraction came to, as it is recorded. */
export interface ExtractionRecord extends FactCounts {
  readonly outcome: "extracted" | "malformed";
  readonly fault: string;
  readonly model: string;
  readonly throughSequence: number;
  /** Of all extractions of the task. */
  readonly usage: ExtractionUsage;
}

/** What there is to look at. */
interface ExtractionSource {
  /** Of the task, after what was looked at before; oldest first. */
  readonly messages: readonly LoggedMessage[];
  /** Newest message of the task; 0 where it has none. */
  readonly throughSequence: number;
  /** Facts of the person that hold, by importance; for scope agent those with this agent. */
  readonly known: readonly Fact[];
  /** The newest extraction of the task. */
  readonly before: ExtractionRecord | undefined;
}

/** An answer to be kept. */
export interface ExtractionResult {
  readonly throughSequence: number;
  readonly model: string;
  readonly usage: ExtractionUsage;
  /** The facts that the question named, in its order. */
  readonly known: readonly Fact[];
  readonly answer: { readonly changes: readonly FactChange[] } | { readonly fault: string };
}

/** Facts and what was looked at for them. Facts are seen by their subject alone; those of the tenant by everybody in it. */
export interface FactStore {
  /** NOT_FOUND where the conversation is another subject's or gone. */
  source(owner: Owner, task: ExtractionTask, signal: AbortSignal): Promise<ExtractionSource>;
  /**
   * Keeps an answer and its facts in one transaction. Where somebody else has looked at the same meanwhile, that is the
   * record, and only what this answer cost is added to it. NOT_FOUND as above.
   */
  keep(owner: Owner, task: ExtractionTask, result: ExtractionResult, signal: AbortSignal): Promise<ExtractionRecord>;
  /** Newest first, after the fact `after`. */
  list(
    owner: Owner,
    filter: { readonly scope: FactScope | undefined; readonly agent: string; readonly includeEnded: boolean },
    page: { readonly after: string | undefined; readonly limit: number },
    signal: AbortSignal,
  ): Promise<readonly Fact[]>;
  /** Removes all versions and leaves tombstones. 0 where there is no such fact of the owner's own. */
  forget(owner: Owner, factId: string, signal: AbortSignal): Promise<number>;
}
