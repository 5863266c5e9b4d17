import type { Clock } from "@drover/kernel";
import type { ModelGateway } from "@drover/model";
import type { Tracer } from "@drover/tracing";
import type { TaskUsage, VerificationFinding } from "../domain/task.ts";
import type { AskParts } from "./ask-model.ts";
import type { AnswerChecks } from "./ports.ts";
import type { ToolBox } from "./tool-ports.ts";

/** What verifying needs. */
export interface VerifyParts {
  readonly checks: AnswerChecks;
  readonly model: ModelGateway;
  readonly tracer: Tracer;
  readonly tools: ToolBox;
  readonly clock: Clock;
  /** Patience with the sandbox, ms. */
  readonly toolPatienceMs: number;
  readonly maxOutputTokens: number;
  readonly promptTokens: AskParts["promptTokens"];
}

/** What a check found, and what a model that was asked took for it. */
export interface Checked {
  readonly findings: readonly VerificationFinding[];
  readonly asked?: { readonly model: string; readonly usage: TaskUsage };
}

/** A verifier that was not asked. */
export function skipped(text: string): Checked {
  return { findings: [{ code: "VERIFIER_UNAVAILABLE", text, blocking: false }] };
}
