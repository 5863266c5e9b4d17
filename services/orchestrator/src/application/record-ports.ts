import type { AgentBudgets } from "../domain/agent.ts";
import type { CallRecord, StepRecord, TransitionRecord } from "../domain/task-records.ts";

/** Somebody's wish to go on with a task that has ended. */
interface ResumeWish {
  readonly actor: string;
  /** 0 is any. */
  readonly expectedVersion: number;
  /** Those that are not 0 replace the task's. */
  readonly budgets: AgentBudgets;
  readonly requestId: string;
  readonly bodyHash: string;
  /** Tasks of the tenant that may wait. */
  readonly maxQueued: number;
}

/** What becomes of the wish; the proto says which errors follow. */
export type ResumeOutcome =
  | "resumed"
  | "existing"
  | "conflict"
  | "not_found"
  | "running"
  | "succeeded"
  | "stale"
  | "busy"
  | "full";

/** A page of records: at most `limit` of those after the position `after`. */
export interface RecordPage {
  readonly tenant: string;
  readonly taskId: string;
  readonly limit: number;
}

/** A task that the database ended by itself. */
export interface EndedTask {
  readonly tenant: string;
  readonly taskId: string;
  readonly lastSequence: number;
}

/** What is done with a task beside working on it. Every method may fail with UNAVAILABLE when the database is away. */
export interface TaskRecords {
  resume(
    tenant: string,
    taskId: string,
    wish: ResumeWish,
  ): Promise<{ readonly outcome: ResumeOutcome; readonly lastSequence: number }>;
  /** Removes a task that has ended, with its logs. */
  remove(tenant: string, taskId: string): Promise<"removed" | "not_found" | "running">;
  /** Oldest first; `after` is a version. */
  transitions(page: RecordPage, after: number): Promise<TransitionRecord[]>;
  /** Oldest first; `after` is a step's number. */
  steps(page: RecordPage, after: number): Promise<StepRecord[]>;
  /** In call order; `after` is the place of the last call of the page before. */
  calls(page: RecordPage, after: { readonly stepSeq: number; readonly ordinal: number }): Promise<CallRecord[]>;
  /**
   * Ends tasks that were claimed `maxIdle` times in a row without a commit as FAILED, DEAD_LETTER (CANCELLED where
   * somebody asked for that); of all tenants, a few at a time.
   */
  bury(maxIdle: number): Promise<EndedTask[]>;
  /** Removes some of what is older than `days`, of all tenants. Returns how many rows; 0 when nothing is left. */
  expire(days: number): Promise<number>;
}
