import type { TokenDelta } from "@drover/proto/event/v1/bus";
import { type TaskEvent, TaskState, type ToolCallCompleted } from "@drover/proto/event/v1/task_event";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { durationOf } from "./figures.ts";
import { isOver } from "./names.ts";
import {
  footerLine,
  type Layout,
  outcomeLines,
  statusLines,
  thinkingLines,
  toolLabel,
  toolLines,
} from "./task-lines.ts";
import { columnsOf, fit, oneLine, padded } from "./terminal-text.ts";

interface Turn {
  readonly round: number;
  readonly ms: number | undefined;
  readonly text: string;
}

interface OpenCall {
  readonly label: string;
  readonly preview: string;
  readonly sinceMs: number;
}

/** Columns a moving line keeps free for its duration. */
const durationColumns = 10;

/**
 * What a task's events amount to in lines; pure but for what it remembers. A turn of the model gives its lines when the
 * event after it tells whether it was a thought on the way or the answer.
 */
export class TaskTranscript {
  readonly #layout: Layout;
  readonly #open = new Map<string, OpenCall>();
  #turn: Turn | undefined;
  #lastMs: number | undefined;
  #spoken = "";
  #working = false;
  #outcomeShown = false;

  constructor(layout: Layout) {
    this.#layout = layout;
  }

  /** The task as it was when watching began. */
  begin(task: Task): void {
    this.#working = !isOver(task.state);
  }

  /** The lasting lines of an event that was committed at `timeMs`. */
  take(event: TaskEvent, timeMs: number): readonly string[] {
    const lines = this.#linesOf(event, timeMs);
    this.#lastMs = timeMs;
    return lines;
  }

  /** Only the newest words matter: they stand in one moving line and are superseded by the committed turn. */
  hear({ text, offset }: TokenDelta): void {
    this.#spoken = oneLine(offset === 0n ? text : `${this.#spoken} ${text}`).slice(-400);
  }

  /** The lines of the end, the outcome among them where no event brought it. */
  end(task: Task): readonly string[] {
    this.#working = false;
    const outcome = this.#outcomeShown ? [] : outcomeLines(task);
    return [...this.#settle(task.state === TaskState.SUCCEEDED), ...outcome, "", footerLine(task, this.#layout)];
  }

  /** What runs at `nowMs`, one line each; none is as wide as the layout. */
  moving(spinner: string, nowMs: number): readonly string[] {
    if (!this.#working) return [];
    const gutter = ` ${this.#layout.palette.waiting(spinner)}  `;
    if (this.#open.size === 0) {
      return [gutter + this.#movingLine("thinking   ", this.#spoken, nowMs - (this.#lastMs ?? nowMs))];
    }
    return [...this.#open.values()].map(
      ({ label, preview, sinceMs }) => gutter + this.#movingLine(padded(`${label}  `, 17), preview, nowMs - sinceMs),
    );
  }

  #movingLine(label: string, text: string, ms: number): string {
    const { width, palette } = this.#layout;
    const shownLabel = fit(label, width - 5 - durationColumns);
    const room = Math.max(0, width - 5 - durationColumns - columnsOf(shownLabel));
    const shown = room < 8 ? "" : fit(text, room);
    return `${shownLabel}${padded(shown, room)}${palette.quiet(durationOf(ms).padStart(durationColumns))}`;
  }

  #linesOf({ event: body, round }: TaskEvent, timeMs: number): readonly string[] {
    switch (body.case) {
      case "assistantMessage": {
        const before = this.#settle(false);
        this.#turn = {
          round,
          ms: this.#lastMs === undefined ? undefined : timeMs - this.#lastMs,
          text: body.value.text,
        };
        this.#spoken = "";
        return before;
      }
      case "toolCallRequested": {
        const { callId, tool, argumentsPreview } = body.value;
        const label = toolLabel(tool, argumentsPreview);
        this.#open.set(callId, { label, preview: oneLine(argumentsPreview), sinceMs: timeMs });
        return this.#settle(false);
      }
      case "toolCallCompleted":
        return this.#completed(body.value);
      case "statusChanged": {
        const { to, reason } = body.value;
        this.#working = !isOver(to) && to !== TaskState.WAITING_APPROVAL;
        const answers = to === TaskState.VERIFYING || to === TaskState.SUCCEEDED;
        return [...this.#settle(answers), ...(isOver(to) ? [] : statusLines(to, reason, this.#layout))];
      }
      case "taskCompleted":
        this.#working = false;
        this.#outcomeShown = true;
        this.#open.clear();
        return [...this.#settle(body.value.state === TaskState.SUCCEEDED), ...outcomeLines(body.value)];
      case "approvalRequired": {
        const { approvalId, tool, reason, rule } = body.value;
        const why = oneLine(reason) || `policy ${oneLine(rule)}`;
        const how = `  decide it: drover approvals approve ${approvalId}, or deny`;
        return [...this.#settle(false), `  approval ${approvalId} needed for ${oneLine(tool)}: ${why}`, how];
      }
      case "notice":
        return [...this.#settle(false), `  ${oneLine(body.value.text)}`];
      case "approvalDecided": {
        const { approvalId, outcome, actor, edited, comment } = body.value;
        const how = `${oneLine(outcome)} by ${oneLine(actor)}${edited ? ", with other arguments" : ""}`;
        return [`  approval ${approvalId} ${how}${comment === "" ? "" : `: ${oneLine(comment)}`}`];
      }
      case "verificationCompleted":
      case undefined:
        return [];
    }
  }

  #completed(call: ToolCallCompleted): readonly string[] {
    const label = this.#open.get(call.callId)?.label ?? oneLine(call.tool);
    this.#open.delete(call.callId);
    return [...this.#settle(false), ...toolLines(label, call, this.#layout)];
  }

  #settle(isAnswer: boolean): readonly string[] {
    const turn = this.#turn;
    this.#turn = undefined;
    return turn === undefined || isAnswer ? [] : thinkingLines(turn, this.#layout);
  }
}
