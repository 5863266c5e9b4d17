import type { JsonValue } from "@bufbuild/protobuf";
import type { DroverError } from "@drover/kernel";
import { type TaskEvent, TaskEventSchema, TaskState } from "@drover/proto/event/v1/task_event";
import { type Task, TaskSchema } from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { exitCodes } from "./exit-codes.ts";
import { jsonOf, printJson } from "./json-output.ts";
import { createTaskRenderer } from "./render/index.ts";
import type { Session } from "./session.ts";
import { type TaskListener, watchTask } from "./watch-task.ts";

interface View extends TaskListener, Disposable {
  end(task: Task): void;
}

/**
 * Follows a task to its end on the terminal, or into one JSON document. The exit code: 0 where it succeeded, 1 where it
 * did not, 130 where Ctrl-C left it running. Throws DroverError.
 */
export async function showTask(session: Session, task: Task, after: bigint): Promise<number> {
  const { terminal, signal } = session;
  const tasks = session.client(TaskService);
  let last = after;
  using view = session.json ? jsonView(session) : textView(session, task);
  const listener: TaskListener = {
    event(event) {
      last = event.sequence;
      view.event(event);
    },
    delta: view.delta,
    interrupted: view.interrupted,
  };
  try {
    await watchTask(tasks, { taskId: task.id, after, deltas: terminal.live && !session.json }, listener, signal);
    const ended = (await tasks.getTask({ taskId: task.id }, { signal })).task ?? task;
    view.end(ended);
    return ended.state === TaskState.SUCCEEDED ? exitCodes.ok : exitCodes.failed;
  } catch (error) {
    if (!signal.aborted) throw error;
    view[Symbol.dispose]();
    terminal.complain(
      `Left task ${task.id}, which goes on.\nWatch it: drover tail ${task.id} --from ${last}\nStop it:  drover cancel ${task.id}`,
    );
    return exitCodes.interrupted;
  }
}

/** Where the viewer shows a task. */
function viewerUrl(session: Session, task: Task): string {
  return `${session.target.url}/t/${task.id}`;
}

function textView(session: Session, task: Task): View {
  const { terminal } = session;
  const { live, color, width } = terminal;
  const renderer = createTaskRenderer({ write: terminal.print, color, live, width });
  renderer.header(task, viewerUrl(session, task));
  return {
    event: renderer.event,
    delta: renderer.delta,
    interrupted(error, waitMs) {
      renderer.clear();
      sayInterrupted(session, error, waitMs);
    },
    end: renderer.end,
    [Symbol.dispose]: () => renderer[Symbol.dispose](),
  };
}

function jsonView(session: Session): View {
  const events: TaskEvent[] = [];
  return {
    event: (event) => void events.push(event),
    delta() {},
    interrupted: (error, waitMs) => sayInterrupted(session, error, waitMs),
    end(task) {
      const document: JsonValue = {
        task: jsonOf(TaskSchema, task),
        events: events.map((event) => jsonOf(TaskEventSchema, event)),
        answer: task.answer,
        viewerUrl: viewerUrl(session, task),
      };
      printJson(session.terminal, document);
    },
    [Symbol.dispose]() {},
  };
}

function sayInterrupted({ terminal }: Session, error: DroverError, waitMs: number): void {
  terminal.complain(`The stream of events broke: ${error.message} Resuming in ${waitMs / 1000} s.`);
}
