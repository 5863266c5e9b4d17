import type { TaskUsage } from "../domain/task.ts";
import type { CallScope } from "./ports.ts";

/** Work after a task's end that this replica has taken up. */
export interface AfterTaskClaim {
  readonly tenant: string;
  readonly taskId: string;
  readonly epoch: number;
  /** From 1. */
  readonly attempt: number;
}

/** How work after a task's end came out. */
export interface AfterTaskEnd {
  readonly state: "DONE" | "GIVEN_UP";
  /** What memory said, UPPER_SNAKE_CASE. */
  readonly outcome: string;
  readonly problem: string;
  /** All that the task's memory took so far; undefined where no model was asked. */
  readonly usage: TaskUsage | undefined;
}

/** The record of what is to be done after tasks' ends. Every method may fail with UNAVAILABLE when the database is away. */
export interface AfterTasks {
  /**
   * Takes up to `limit` that are due, of all tenants, each for `leaseMs`: then somebody else may. What was tried
   * `attempts` times is given up.
   */
  claim(options: {
    readonly limit: number;
    readonly leaseMs: number;
    readonly attempts: number;
  }): Promise<readonly AfterTaskClaim[]>;
  /** Records the end and adds the cost to the task, once. False where the claim is lost; the cost is added all the same. */
  finish(claim: AfterTaskClaim, end: AfterTaskEnd): Promise<boolean>;
  /** Gives it back, to be taken up after `delayMs`; 0 hands it over, and the try does not count. */
  retry(claim: AfterTaskClaim, delayMs: number, problem: string): Promise<void>;
}

/** What an extraction came to. */
export interface ExtractionReport {
  readonly outcome: "EXTRACTED" | "NOTHING" | "MALFORMED" | "DISABLED";
  /** For people, one line. */
  readonly words: string;
  readonly usage: TaskUsage | undefined;
}

/** Long-term memory, as it is told of a task's end. Failures are DroverErrors. */
export interface FactMemory {
  /** Again for the same task is the same as once. */
  extract(
    scope: CallScope,
    task: { readonly conversationId: string; readonly agent: string },
    signal: AbortSignal,
  ): Promise<ExtractionReport>;
}
