import type { Usage } from "@drover/proto/common/v1/usage";
import { TaskState, type ToolCallCompleted, ToolCallState } from "@drover/proto/event/v1/task_event";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { spillName } from "@drover/tracing/spill-name";
import { rowLines } from "./columns.ts";
import { betweenMs, countOf, dollarsOf, durationOf, plural } from "./figures.ts";
import { callStateName, modeName, stateName } from "./names.ts";
import type { Palette } from "./palette.ts";
import { oneLine, safeLines } from "./terminal-text.ts";

/** How lines are laid out. */
export interface Layout {
  /** Columns of a line. */
  readonly width: number;
  readonly palette: Palette;
}

/** Columns of the label before a turn's text, and before a tool's. */
const labelColumns = { thinking: 11, tool: 17 } as const;

/** The first line of a run: the task's short id, mode, model and where to look at it. */
export function headerLine(task: Task, viewerUrl: string, { palette }: Layout): string {
  const facts = [`task ${shortTaskId(task.id)}`, modeName(task.mode), oneLine(task.model), viewerUrl];
  return facts.filter((fact) => fact !== "").join(palette.quiet(" · "));
}

/** Enough of an id to tell tasks apart: its beginning is the millisecond it was made in. */
function shortTaskId(id: string): string {
  return id.slice(0, 13);
}

/** A turn of the model that goes on to call tools. */
export function thinkingLines(
  turn: { readonly round: number; readonly text: string; readonly ms: number | undefined },
  { width, palette }: Layout,
): readonly string[] {
  const duration = turn.ms === undefined ? {} : { duration: durationOf(turn.ms) };
  return rowLines(
    {
      gutter: String(turn.round).padStart(2),
      label: "thinking",
      labelColumns: labelColumns.thinking,
      text: oneLine(turn.text),
      most: 6,
      ...duration,
    },
    width,
    palette,
  );
}

/** A tool call that has its result; `label` is from {@link toolLabel}. */
export function toolLines(label: string, call: ToolCallCompleted, { width, palette }: Layout): readonly string[] {
  const succeeded = call.state === ToolCallState.SUCCEEDED;
  return rowLines(
    {
      label,
      labelColumns: labelColumns.tool,
      ...(succeeded ? {} : { paintLabel: palette.bad }),
      text: toolText(call, succeeded),
      duration: durationOf(Number(call.durationMs)),
      most: 3,
    },
    width,
    palette,
  );
}

/** What a call is named in a line: the tool, and its language where the arguments name one. */
export function toolLabel(tool: string, argumentsPreview: string): string {
  const language = /"language"\s*:\s*"([A-Za-z0-9+#._-]{1,16})"/.exec(argumentsPreview)?.[1];
  return oneLine(language === undefined ? tool : `${tool} ${language}`);
}

/** A change of state that a person should see: a wait, or one with a reason. Empty for the others. */
export function statusLines(to: TaskState, reason: string, { width, palette }: Layout): readonly string[] {
  const waits = to === TaskState.WAITING_APPROVAL;
  if (!waits && reason === "") return [];
  const row = { label: stateName(to), labelColumns: labelColumns.tool, text: oneLine(reason), most: 2 };
  return waits
    ? rowLines({ ...row, gutter: " ?", paintLabel: palette.waiting }, width, palette)
    : rowLines({ ...row, paintLabel: palette.quiet }, width, palette);
}

/** The outcome in full: the answer, or why there is none. */
export function outcomeLines(
  outcome: Pick<Task, "state" | "answer" | "failureReason" | "failureMessage">,
): readonly string[] {
  const answer = outcome.answer === "" ? [] : ["", ...safeLines(outcome.answer.trimEnd())];
  if (outcome.state !== TaskState.FAILED) return answer;
  const message = oneLine(outcome.failureMessage) || "No reason was recorded.";
  return [...answer, "", outcome.failureReason === "" ? message : `${message} (${oneLine(outcome.failureReason)})`];
}

/** The last line: state, rounds, tokens, cost and time. */
export function footerLine(task: Task, { palette }: Layout): string {
  const paint =
    task.state === TaskState.SUCCEEDED ? palette.good : task.state === TaskState.FAILED ? palette.bad : palette.waiting;
  const ms = betweenMs(task.startedAt ?? task.createdAt, task.endedAt);
  const facts = [
    paint(stateName(task.state)),
    plural(task.round, "round"),
    ...usageFacts(task.usage),
    ...(ms === undefined ? [] : [durationOf(ms)]),
  ];
  return facts.join(palette.quiet(" · "));
}

/** Tokens and cost, e.g. `12,480 in, 1,106 out` and `$0.0071`; a model without a price gives no cost. */
export function usageFacts(usage: Usage | undefined): readonly string[] {
  if (usage === undefined) return [];
  const tokens = `${countOf(usage.inputTokens)} in, ${countOf(usage.outputTokens)} out`;
  return usage.costNanoUsd === undefined ? [tokens] : [tokens, dollarsOf(usage.costNanoUsd)];
}

function toolText(call: ToolCallCompleted, succeeded: boolean): string {
  const state = succeeded ? "" : call.errorCode === "" ? callStateName(call.state) : call.errorCode;
  const spilled =
    call.spillPointer === ""
      ? ""
      : `${countOf(call.resultCharacters)} characters, shown ${countOf(call.shownCharacters)} · ${spillName(call.spillPointer)}`;
  return [state, call.summary, spilled]
    .map(oneLine)
    .filter((part) => part !== "")
    .join(" · ");
}
