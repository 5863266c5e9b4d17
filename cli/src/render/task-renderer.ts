import { timestampMs } from "@bufbuild/protobuf/wkt";
import type { TokenDelta } from "@drover/proto/event/v1/bus";
import type { TaskEvent } from "@drover/proto/event/v1/task_event";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { createLiveRegion } from "./live-region.ts";
import { paletteOf } from "./palette.ts";
import { headerLine, type Layout } from "./task-lines.ts";
import { TaskTranscript } from "./task-transcript.ts";

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

/** A renderer of one task. Disposing stops its timer and leaves only lasting lines. */
export function createTaskRenderer(options: TaskRendererOptions): TaskRenderer {
  const layout: Layout = { width: Math.max(40, options.width), palette: paletteOf(options.color) };
  const now = options.now ?? Date.now;
  const transcript = new TaskTranscript(layout);
  const region = createLiveRegion({
    write: options.write,
    live: options.live,
    lines: (spinner) => transcript.moving(spinner, now()),
  });
  return {
    header(task, viewerUrl) {
      transcript.begin(task);
      region.print([headerLine(task, viewerUrl, layout), ""]);
    },
    event(event) {
      region.print(transcript.take(event, event.time === undefined ? now() : timestampMs(event.time)));
    },
    delta: (delta) => transcript.hear(delta),
    end(task) {
      region.print(transcript.end(task));
      region[Symbol.dispose]();
    },
    clear: () => region.clear(),
    [Symbol.dispose]: () => region[Symbol.dispose](),
  };
}
