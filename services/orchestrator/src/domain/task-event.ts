import type { TaskUsage } from "./task.ts";
import type { TaskState } from "./task-state.ts";
import type { ToolCallState } from "./tool-call-state.ts";

/** What an event of a task says. `status_changed` and `task_completed` are written by the database with the transition. */
export type TaskEventBody =
  | {
      readonly type: "status_changed";
      readonly from: TaskState | "UNSPECIFIED";
      readonly to: TaskState;
      readonly actor: string;
      readonly reason: string;
      readonly version: number;
    }
  | {
      readonly type: "assistant_message";
      /** Step whose deltas it supersedes. */
      readonly step: number;
      readonly text: string;
      readonly model: string;
      readonly usage: TaskUsage;
    }
  | {
      readonly type: "tool_call_requested";
      readonly callId: string;
      readonly tool: string;
      /** Redacted, at most 4,096 characters. */
      readonly argumentsPreview: string;
      readonly ordinal: number;
    }
  | {
      readonly type: "tool_call_completed";
      readonly callId: string;
      readonly tool: string;
      readonly state: ToolCallState;
      readonly summary: string;
      readonly errorCode: string;
      readonly durationMs: number;
      readonly resultCharacters: number;
      readonly shownCharacters: number;
      readonly spillPointer: string;
    }
  /** Written together with the approval. */
  | {
      readonly type: "approval_required";
      readonly approvalId: string;
      readonly callId: string;
      readonly tool: string;
      readonly argumentsPreview: string;
      readonly rule: string;
      readonly reason: string;
      /** Milliseconds since the epoch. */
      readonly expiresAt: number;
    }
  /** Written by the database. */
  | {
      readonly type: "approval_decided";
      readonly approvalId: string;
      readonly callId: string;
      readonly outcome: "approved" | "denied" | "expired" | "withdrawn";
      readonly actor: string;
      readonly comment: string;
      readonly edited: boolean;
    }
  | {
      readonly type: "verification_completed";
      readonly passed: boolean;
      readonly verifier: string;
      readonly findings: readonly string[];
      readonly reworks: number;
    }
  /** Something to know that changes nothing. */
  | { readonly type: "notice"; readonly code: string; readonly text: string }
  | {
      readonly type: "task_completed";
      readonly state: TaskState;
      readonly answer: string;
      readonly failureReason: string;
      readonly failureMessage: string;
      readonly usage: TaskUsage;
      readonly rounds: number;
    };

/** A committed event: what was said, and its place in the log. */
export interface TaskEvent {
  readonly taskId: string;
  /** From 1 without a gap, assigned in the commit. */
  readonly sequence: number;
  readonly round: number;
  readonly time: Date;
  readonly body: TaskEventBody;
}
