import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { TokenDelta } from "@drover/proto/event/v1/bus";
import { type AssistantMessage, type TaskEvent, TaskState } from "@drover/proto/event/v1/task_event";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { durationOf } from "./figures.ts";
import { createLiveRegion } from "./live-region.ts";
import { isOver } from "./names.ts";
import { paletteOf } from "./palette.ts";
import {
  footerLine,
  headerLine,
  type Layout,
  outcomeLines,
  statusLines,
  thinkingLines,
  toolLabel,
  toolLines,
} from "./task-lines.ts";
import { columnsOf, fit, oneLine, padded } from "./terminal-text.ts";

/** How and where a task is shown. */
export interface TaskRendererOptions {
  /** Takes finished text, in order. */
  readonly write: (text: string) => void;
  readonly color: boolean;
  /** The writer is a terminal that may be drawn over: what runs is shown with its elapsed time. */
  readonly live: boolean;
  /** Columns of a line. */
  readonly width: number;
  /** The clock of elapsed times in milliseconds since the epoch; Date.now where absent. */
  readonly now?: () => number;
}

/** Shows a task as it is worked on: lasting lines for what is committed, moving ones for what runs. */
export interface TaskRenderer extends Disposable {
  header(task: Task, viewerUrl: string): void;
  /** The next committed event, in the order of their sequences. */
  event(event: TaskEvent): void;
  /** A piece of the model's text; shown only where live. */
  delta(delta: TokenDelta): void;
  /** Prints the last line, and the outcome where no event brought it; nothing moves afterwards. */
  end(task: Task): void;
  /** Takes moving lines off the screen, so that something else can be printed. */
  clear(): void;
}

interface Turn {
  readonly round: number;
  readonly ms: number | undefined;
  readonly message: AssistantMessage;
}

interface OpenCall {
  readonly label: string;
  readonly preview: string;
  readonly sinceMs: number;
}

/**
 * A renderer of one task. Disposing stops its timer and leaves only lasting lines. A turn of the model is printed when
 * the event after it tells whether it was a thought on the way or the answer.
 */
export function createTaskRenderer(options: TaskRendererOptions): TaskRenderer {
  const layout: Layout = { width: Math.max(40, options.width), palette: paletteOf(options.color) };
  const now = options.now ?? Date.now;
  const open = new Map<string, OpenCall>();
  let turn: Turn | undefined;
  let lastMs: number | undefined;
  let spoken = "";
  let working = false;
  let outcomeShown = false;
  const region = createLiveRegion({ write: options.write, live: options.live, lines: movingLines });

  function movingLines(spinner: string): readonly string[] {
    if (!working) return [];
    const gutter = ` ${layout.palette.waiting(spinner)}  `;
    if (open.size > 0) {
      return [...open.values()].map(
        (call) => gutter + moving(padded(`${call.label}  `, 17), call.preview, now() - call.sinceMs),
      );
    }
    return [gutter + moving("thinking   ", spoken, now() - (lastMs ?? now()))];
  }

  function moving(label: string, text: string, ms: number): string {
    const room = Math.max(0, layout.width - 4 - columnsOf(label) - 11);
    const shown = room < 8 ? "" : fit(text, room);
    return `${fit(label, layout.width - 15)}${padded(shown, room)}${layout.palette.quiet(durationOf(ms).padStart(10))}`;
  }

  function settleTurn(isAnswer: boolean): readonly string[] {
    if (turn === undefined) return [];
    const { round, ms, message } = turn;
    turn = undefined;
    return isAnswer ? [] : thinkingLines({ round, ms, text: message.text }, layout);
  }

  function linesOf(event: TaskEvent, timeMs: number): readonly string[] {
    const body = event.event;
    switch (body.case) {
      case "assistantMessage": {
        const before = settleTurn(false);
        turn = { round: event.round, ms: lastMs === undefined ? undefined : timeMs - lastMs, message: body.value };
        spoken = "";
        return before;
      }
      case "toolCallRequested": {
        const { callId, tool, argumentsPreview } = body.value;
        const label = toolLabel(tool, argumentsPreview);
        open.set(callId, { label, preview: oneLine(argumentsPreview), sinceMs: timeMs });
        return settleTurn(false);
      }
      case "toolCallCompleted": {
        const label = open.get(body.value.callId)?.label ?? oneLine(body.value.tool);
        open.delete(body.value.callId);
        return [...settleTurn(false), ...toolLines(label, body.value, layout)];
      }
      case "statusChanged": {
        working = !isOver(body.value.to) && body.value.to !== TaskState.WAITING_APPROVAL;
        const answers = body.value.to === TaskState.VERIFYING || body.value.to === TaskState.SUCCEEDED;
        return [
          ...settleTurn(answers),
          ...(isOver(body.value.to) ? [] : statusLines(body.value.to, body.value.reason, layout)),
        ];
      }
      case "taskCompleted": {
        working = false;
        outcomeShown = true;
        open.clear();
        return [...settleTurn(body.value.state === TaskState.SUCCEEDED), ...outcomeLines(body.value)];
      }
      case undefined:
        return [];
    }
  }

  return {
    header(task, viewerUrl) {
      working = !isOver(task.state);
      region.print([headerLine(task, viewerUrl, layout), ""]);
    },
    event(event) {
      const timeMs = event.time === undefined ? now() : timestampMs(event.time);
      region.print(linesOf(event, timeMs));
      lastMs = timeMs;
    },
    delta({ text, offset }) {
      // Only the newest words matter: they are shown in one line and superseded by the committed turn.
      spoken = oneLine(offset === 0n ? text : `${spoken} ${text}`).slice(-400);
    },
    end(task) {
      working = false;
      const outcome = outcomeShown ? [] : outcomeLines(task);
      region.print([...settleTurn(task.state === TaskState.SUCCEEDED), ...outcome, "", footerLine(task, layout)]);
      region[Symbol.dispose]();
    },
    clear: () => region.clear(),
    [Symbol.dispose]: () => region[Symbol.dispose](),
  };
}
