import type { Step, ToolCallRecord } from "../../src/domain/step.ts";

/** What one client asked for, and what it knows of the outcome. `unknown`: the answer was lost on its way. */
export interface Operation {
  readonly kind: "submit" | "cancel" | "resume" | "decide";
  readonly invokedAt: number;
  readonly settledAt: number;
  readonly outcome: "ok" | "failed" | "unknown";
  /** Empty for a submission whose outcome is not ok. */
  readonly taskId: string;
  /** Of a cancel that was accepted: the wish counts, because the task had not ended. */
  readonly accepted: boolean;
}

/** Something that a tool did in the world. */
interface Effect {
  readonly callId: string;
  /** What is done; it must be done once at most, whatever the ids of the calls are. */
  readonly key: string;
  readonly at: number;
  /** False for one that was stopped before it changed anything. */
  readonly completed: boolean;
}

/** What a worker saw of its own hold on a task. */
export interface OwnerEntry {
  readonly owner: string;
  readonly taskId: string;
  readonly epoch: number;
  /** A claim has version 0; a commit that was answered has the version that it made. */
  readonly version: number;
}

/** An event as a watcher got it, or as it is stored; `text` is the whole of it. */
export interface SeenEvent {
  readonly sequence: number;
  readonly text: string;
}

/** One watch of a task, over all its reconnections. */
export interface Watched {
  readonly taskId: string;
  readonly events: readonly SeenEvent[];
  /** The watch went on to the task's end. */
  readonly complete: boolean;
}

/** A transition as it is stored. */
export interface RecordedTransition {
  readonly version: number;
  readonly from: string;
  readonly to: string;
  readonly actor: string;
  /** Sequence of the event that tells of it. */
  readonly outputEvent: number;
}

/** Everything that is stored of one task at the end. */
export interface RecordedTask {
  readonly id: string;
  readonly state: string;
  readonly version: number;
  readonly lastSequence: number;
  readonly epoch: number;
  readonly transitions: readonly RecordedTransition[];
  readonly steps: readonly (Step & { readonly epoch: number })[];
  readonly calls: readonly ToolCallRecord[];
  readonly events: readonly (SeenEvent & { readonly type: string })[];
}

/** Everything that is known of a run under faults, once it is over and quiet. */
export interface History {
  readonly operations: readonly Operation[];
  readonly effects: readonly Effect[];
  readonly owners: readonly OwnerEntry[];
  readonly watches: readonly Watched[];
  readonly tasks: readonly RecordedTask[];
}
