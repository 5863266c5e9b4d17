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
  /** Of a decision. */
  readonly decision?: AskedDecision;
}

/** A decision as somebody asked for it, and what the answer said of the approval. */
export interface AskedDecision extends Verdict {
  readonly approvalId: string;
  readonly callId: string;
  /** Who decided, by the answer to this or another decision; absent where the answer did not say. */
  readonly told?: Pick<Verdict, "state" | "by">;
}

/** How an approval ended. */
interface Verdict {
  readonly state: string;
  readonly by: string;
  /** The call runs with the approver's arguments. */
  readonly edited: boolean;
}

/** An approval as it is stored. */
export interface RecordedApproval extends Verdict {
  readonly id: string;
  readonly callId: string;
  /** Empty where it asks whether a call is sent again. */
  readonly rule: string;
  /** Of the arguments that may be run. */
  readonly argumentsHash: string;
  /** It was decided when its time was over; the database's clock. */
  readonly late: boolean;
  /** States in the tenant's log of approvals, in order. */
  readonly changes: readonly string[];
}

/** Something that a tool did in the world. */
export interface Effect {
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
  readonly approvals: readonly RecordedApproval[];
  readonly events: readonly (SeenEvent & { readonly type: string; readonly approvalId?: string })[];
}

/** Everything that is known of a run under faults, once it is over and quiet. */
export interface History {
  readonly operations: readonly Operation[];
  readonly effects: readonly Effect[];
  readonly owners: readonly OwnerEntry[];
  readonly watches: readonly Watched[];
  readonly tasks: readonly RecordedTask[];
}
