import type { Agent, Policy } from "@drover/proto/orchestrator/v1/agent_service";
import type { SubmitTaskRequest } from "@drover/proto/orchestrator/v1/task_service";

/** Texts that must and must not occur. */
export interface TextCheck {
  readonly contains?: readonly string[];
  readonly excludes?: readonly string[];
}

/** A call that must or must not have been made; absent fields fit every call. */
export interface CallCheck {
  readonly tool: string;
  /** Occurs in the call's redacted arguments. */
  readonly arguments?: string;
  readonly state?: string;
}

/** What a file must be at the end. */
export interface FileCheck extends TextCheck {
  readonly equals?: string;
  readonly absent?: true;
}

/** What must hold when the task has ended. */
export interface Expectation {
  readonly state: "SUCCEEDED" | "FAILED" | "CANCELLED";
  readonly failure_reason?: string;
  readonly answer?: TextCheck;
  readonly made?: readonly CallCheck[];
  readonly forbidden?: readonly CallCheck[];
  readonly files?: Readonly<Record<string, FileCheck>>;
  /** Codes of findings in any report on the way. */
  readonly findings?: readonly string[];
  readonly notices?: readonly string[];
  readonly reworks?: number;
  readonly most?: { readonly rounds?: number; readonly tool_calls?: number; readonly tokens?: number };
}

/** One evaluation as its file says; README.md explains the fields. */
export interface Evaluation {
  readonly name: string;
  readonly description: string;
  /** The scripted model's policy. */
  readonly model: string;
  readonly files: Readonly<Record<string, string>>;
  readonly documents: Readonly<Record<string, string>>;
  readonly agent: Agent | undefined;
  readonly policies: readonly Policy[];
  readonly task: SubmitTaskRequest;
  /** On the approvals of the task, in their order; the last one repeats. */
  readonly decisions: readonly ("approve" | "deny")[];
  readonly expect: Expectation;
}
