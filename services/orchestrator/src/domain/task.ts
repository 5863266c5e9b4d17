import type { TaskState } from "./task-state.ts";

/** How a task is worked on. */
export type TaskMode = "CHAT" | "RAG" | "REACT" | "PSE";

/** Tokens and money of the model calls of a task or a turn. */
export interface TaskUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly cachedInputTokens: number;
  readonly reasoningTokens: number;
  /** Nano-USD; null as soon as one call was answered by a model without a known price. */
  readonly costNanoUsd: number | null;
}

/** The two together; the cost is known where both are. */
export function sumUsage(a: TaskUsage, b: TaskUsage): TaskUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    costNanoUsd: a.costNanoUsd === null || b.costNanoUsd === null ? null : a.costNanoUsd + b.costNanoUsd,
  };
}

/** What a task may use up beside its rounds; 0 is no limit. */
export interface TaskBudgets {
  /** Milliseconds during which a worker holds it. */
  readonly wallMs: number;
  /** Input and output together. */
  readonly tokens: number;
  readonly costNanoUsd: number;
  readonly toolCalls: number;
  /** Of one turn of the model. */
  readonly outputTokens: number;
}

/** One finding of a verifier. */
export interface VerificationFinding {
  /** UPPER_SNAKE_CASE. */
  readonly code: string;
  readonly text: string;
  /** A finding that is not blocking does not send the answer back. */
  readonly blocking: boolean;
}

/** What a verifier said of an answer. */
export interface VerificationReport {
  readonly passed: boolean;
  readonly verifier: string;
  readonly findings: readonly VerificationFinding[];
  /** How often the answer had been sent back before. */
  readonly reworks: number;
}

/** A task as it is recorded. */
export interface Task {
  readonly tenant: string;
  readonly id: string;
  readonly state: TaskState;
  readonly mode: TaskMode;
  readonly prompt: string;
  readonly model: string;
  /** Document collection that search_documents looks in. */
  readonly collection: string;
  readonly conversationId: string;
  readonly workspaceId: string | undefined;
  /** The workspace came with the submission. */
  readonly workspaceGiven: boolean;
  readonly traceId: string;
  /** The subject on whose behalf it runs. */
  readonly createdBy: string;
  /** Rounds begun; 0 before the first. */
  readonly round: number;
  readonly maxRounds: number;
  /** Grows by one at every commit. */
  readonly version: number;
  /** Sequence of the newest event. */
  readonly lastSequence: number;
  readonly answer: string;
  readonly failureReason: string;
  readonly failureMessage: string;
  readonly cancelRequested: boolean;
  readonly cancelActor: string;
  readonly cancelReason: string;
  /** How often it was claimed. */
  readonly attempt: number;
  readonly usage: TaskUsage;
  /** The part of `usage` that long-term memory took after the end; undefined where no model was asked. */
  readonly memoryUsage: TaskUsage | undefined;
  /** Name of its agent; empty for the service's own. */
  readonly agent: string;
  /** The agent as it was when the task was submitted, as JSON of its own module. */
  readonly agentBody: Readonly<Record<string, unknown>>;
  /** -10 to 10. */
  readonly priority: number;
  readonly rerunOf: string | undefined;
  readonly resumes: number;
  readonly budgets: TaskBudgets;
  /** Time during which a worker held it, ms. */
  readonly wallMsUsed: number;
  /** Calls that were dispatched. */
  readonly toolCallsUsed: number;
  readonly reworks: number;
  readonly verification: VerificationReport | undefined;
  /** Sequence of the oldest event that is kept. */
  readonly firstSequence: number;
  readonly createdAt: Date;
  readonly startedAt: Date | undefined;
  readonly endedAt: Date | undefined;
}

/**
 * The span that stands for a whole task in its trace: derived from the task's id, so that every
 * worker that takes the task up continues the same span. 16 hexadecimal digits, never all zero.
 */
export function rootSpanId(taskId: string): string {
  // The last 64 bits of a UUIDv7 are its variant bits (never zero) and randomness.
  return taskId.replaceAll("-", "").slice(16);
}
