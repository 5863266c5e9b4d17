import { headOf } from "@drover/kernel";
import type { ToolCallOutcome } from "./tool-call-state.ts";

/** What a tool gives back. A failure is a value like any other: the model reads it and goes on. */
export interface ToolResult {
  readonly ok: boolean;
  /** Empty where ok; UPPER_SNAKE_CASE. OUTCOME_UNKNOWN: it may or may not have happened. */
  readonly errorCode: string;
  /** One line for people and for the model. */
  readonly summary: string;
  /** The body for the model; may be empty or very long. */
  readonly text: string;
  /** Addresses of things the call left behind, e.g. `/workspace/report.csv`. */
  readonly artifacts: readonly string[];
  /** The same call may work later. */
  readonly retryable: boolean;
}

/** How much of a result the model is shown; all in characters (UTF-16 units). */
export interface ViewLimits {
  /** A longer result is shown by its preview only. */
  readonly spillThreshold: number;
  readonly preview: number;
  /** The most that is shown of a result below the threshold. */
  readonly viewCap: number;
}

/** A result as the model is shown it. */
export interface ResultView {
  readonly shown: string;
  /** Characters of the result that stand in `shown`. */
  readonly shownCharacters: number;
}

/** A failed call in the form of a result. */
export function toolFailure(errorCode: string, summary: string, text = "", retryable = false): ToolResult {
  return { ok: false, errorCode, summary, text, artifacts: [], retryable };
}

/** Characters of a result that are kept at all; a tool that gives more is told to give less. */
const mostResultCharacters = 16_000_000;
const mostArtifacts = 1_000;

/**
 * What a tool gave back as a result that can be recorded: a value that is none, or whose parts are of another kind,
 * becomes a failure, and a text beyond {@link mostResultCharacters} is cut, which is said in its place.
 */
export function sound(tool: string, value: unknown): ToolResult {
  if (!isResult(value))
    return toolFailure("TOOL_MISBEHAVED", `The tool ${tool} gave back something that is no result.`);
  const { ok, errorCode, summary, text, artifacts, retryable } = value;
  const over = text.length - mostResultCharacters;
  const kept = over <= 0 ? text : `${headOf(text, mostResultCharacters)}\n[${over} characters more were not kept.]`;
  return {
    ...{ ok, summary: headOf(summary, 2_000), text: kept, artifacts: artifacts.slice(0, mostArtifacts), retryable },
    errorCode: ok ? "" : /^[A-Z][A-Z0-9_]{0,63}$/.test(errorCode) ? errorCode : "TOOL_MISBEHAVED",
  };
}

function isResult(value: unknown): value is ToolResult {
  if (typeof value !== "object" || value === null) return false;
  const { ok, errorCode, summary, text, artifacts, retryable } = value as Readonly<Record<string, unknown>>;
  return (
    [ok, retryable].every((part) => typeof part === "boolean") &&
    [errorCode, summary, text].every((part) => typeof part === "string") &&
    Array.isArray(artifacts) &&
    artifacts.every((part) => typeof part === "string")
  );
}

/** The whole text of a result: one line that says how it went, then the body. */
export function resultText(result: ToolResult): string {
  const status = result.ok ? `OK: ${result.summary}` : `ERROR ${result.errorCode}: ${result.summary}`;
  const hint = !result.ok && result.retryable ? " The same call may work later." : "";
  return result.text === "" ? `${status}${hint}` : `${status}${hint}\n${result.text}`;
}

/** The state in which a call with this result ends. */
export function outcomeOf(result: ToolResult): ToolCallOutcome {
  if (result.ok) return "SUCCEEDED";
  if (result.errorCode === "OUTCOME_UNKNOWN") return "UNKNOWN";
  return result.errorCode === "CANCELLED" ? "CANCELLED" : "FAILED";
}

/** True for a text of which the model cannot be shown everything, so that it has to be stored whole. */
export function needsSpill(text: string, limits: ViewLimits): boolean {
  return text.length > limits.viewCap;
}

/**
 * What the model is shown of a text. A cut text always says how long the whole is, where it is stored
 * and which tool reads it; `pointer` is empty where it could not be stored, which is said too.
 */
export function viewOf(text: string, pointer: string, limits: ViewLimits): ResultView {
  if (!needsSpill(text, limits)) return { shown: text, shownCharacters: text.length };
  const head = headOf(text, text.length > limits.spillThreshold ? limits.preview : limits.viewCap);
  const cut = `Shown are the first ${head.length} of ${text.length} characters.`;
  const where =
    pointer === ""
      ? "The rest could not be stored and is lost."
      : `The whole text is stored at ${pointer}; read on with read_spill {"pointer": "${pointer}", "offset": ${head.length}}.`;
  return { shown: `${head}\n[${cut} ${where}]`, shownCharacters: head.length };
}
