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
