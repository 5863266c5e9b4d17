import type { TaskUsage, VerificationReport } from "./task.ts";
import type { ToolCallState } from "./tool-call-state.ts";

/** What one step of a task holds. Steps are only ever appended; everything a task knows follows from them. */
export type StepBody =
  /** The task's own words; always step 1. */
  | { readonly kind: "prompt"; readonly text: string }
  /** A turn of the model. Its calls stand in the call log, by this step's number. */
  | {
      readonly kind: "turn";
      /** Redacted. */
      readonly text: string;
      readonly model: string;
      readonly finishReason: string;
      readonly decision: "final" | "tool_calls" | "refusal" | "length" | "content_filter" | "empty";
      readonly usage: TaskUsage;
      /** What the model was asked as; absent in steps of before roles were kept. */
      readonly role?: "agent";
      /** The turn was asked for without tools, because a budget was used up. */
      readonly last: boolean;
      /** Tools of servers that this turn was the first to be offered, with the digests of their form. */
      readonly pins?: Readonly<Record<string, string>>;
    }
  /** The results of the calls of step `turn` are in the call log; `loaded` are tools that were found and are on offer now. */
  | { readonly kind: "results"; readonly turn: number; readonly loaded?: readonly string[] }
  /** The answer of the turn before it was checked. */
  | {
      readonly kind: "verification";
      readonly report: VerificationReport;
      /** Present where a model was asked for its verdict. */
      readonly role?: "verifier";
      readonly model?: string;
      readonly usage?: TaskUsage;
    }
  /** Words of the loop itself to the model: what was wrong with its turn, or that it must answer now. */
  | {
      readonly kind: "nudge";
      readonly text: string;
      /** What it is about, UPPER_SNAKE_CASE, where the loop itself has to know. */
      readonly code?: string;
      /** Tools of servers that are offered in another form from here on. */
      readonly pins?: Readonly<Record<string, string>>;
    };

/** A step in its place. */
export interface Step {
  /** From 1 without a gap. */
  readonly seq: number;
  readonly round: number;
  readonly body: StepBody;
}

/**
 * Most calls of one turn that are recorded; those after them are as if the model had not made them. No message of the
 * memory service holds more, and no provider lets a model make so many.
 */
export const recordedCalls = 128;

/** A tool call as it is recorded. */
export interface ToolCallRecord {
  readonly callId: string;
  readonly stepSeq: number;
  /** Position within its turn, from 0. */
  readonly ordinal: number;
  readonly providerCallId: string;
  readonly tool: string;
  /** What the model wrote, slips repaired, or what an approver put in its place; never shown to anybody but the tool and the model. */
  readonly arguments: string;
  /** SHA-256 of `arguments`, lower-case hex; an approval names it. */
  readonly argumentsHash: string;
  /** What the policy said when the call was proposed, and by which rule; empty where none fits. */
  readonly policyEffect: "allow" | "ask" | "deny";
  readonly policyRule: string;
  /** The only commands that a shell tool may run; empty for no such rule. */
  readonly allowedCommands: readonly string[];
  readonly state: ToolCallState;
  /** Of a call that waits, or waited, for a decision. */
  readonly approvalId?: string;
  /** The text that the model is shown; empty while the call is open. */
  readonly shown: string;
  readonly spillPointer: string;
  readonly resultCharacters: number;
}

/** Everything a worker knows of a task: the newest step last, calls by step and ordinal. */
export interface TaskLog {
  readonly steps: readonly Step[];
  readonly calls: readonly ToolCallRecord[];
}

/** True for a turn whose calls must have their results before anything else. One that had no tools on offer has none. */
export function asksForCalls({ body }: Step): boolean {
  return body.kind === "turn" && body.decision === "tool_calls" && !body.last;
}

/** The calls of one turn, in call order. */
export function callsOf(log: TaskLog, turn: number): readonly ToolCallRecord[] {
  return log.calls.filter((call) => call.stepSeq === turn).sort((a, b) => a.ordinal - b.ordinal);
}
