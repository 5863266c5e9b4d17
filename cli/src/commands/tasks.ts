import type { DescMessage, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import { notFound } from "@drover/kernel";
import {
  type BudgetsSchema,
  type Step,
  StepSchema,
  type Task,
  TaskSchema,
  type ToolCall,
  ToolCallSchema,
  type Transition,
  TransitionSchema,
} from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { exitCodes } from "../exit-codes.ts";
import { jsonOf, printJson } from "../json-output.ts";
import { rowLines } from "../render/columns.ts";
import { durationOf } from "../render/figures.ts";
import { callStateName, stateName } from "../render/names.ts";
import { paletteOf } from "../render/palette.ts";
import { oneLine } from "../render/terminal-text.ts";
import type { Session } from "../session.ts";
import { taskIdOf } from "../task-id.ts";

/** Goes on with a task that has ended without success; 0 leaves a budget as it is. */
export async function resumeTask(
  session: Session,
  written: string,
  budgets: MessageInitShape<typeof BudgetsSchema>,
): Promise<number> {
  const taskId = await taskIdOf(session, written);
  const { task } = await session.client(TaskService).resumeTask({ taskId, budgets }, { signal: session.signal });
  return told(session, task, taskId, (id) => `task ${id} goes on; watch it: drover tail ${id}`);
}

/** Submits a task again, as a new one. */
export async function rerunTask(session: Session, written: string): Promise<number> {
  const taskId = await taskIdOf(session, written);
  const { task } = await session.client(TaskService).rerunTask({ taskId }, { signal: session.signal });
  return told(session, task, taskId, (id) => `task ${id} does it again; watch it: drover tail ${id}`);
}

/** Removes a task that has ended. */
export async function deleteTask(session: Session, written: string): Promise<number> {
  const taskId = await taskIdOf(session, written);
  await session.client(TaskService).deleteTask({ taskId }, { signal: session.signal });
  if (session.json) printJson(session.terminal, { taskId });
  else session.terminal.print(`task ${taskId} is deleted\n`);
  return exitCodes.ok;
}

/** Lists the transitions of a task. */
export async function listTransitions(session: Session, written: string): Promise<number> {
  const found = await all(session, written, async (page, options) => {
    const { transitions, nextPageToken } = await session.client(TaskService).listTransitions(page, options);
    return { records: transitions, nextPageToken };
  });
  return show(session, "transitions", TransitionSchema, found, (transition: Transition) => ({
    gutter: String(transition.version),
    label: stateName(transition.to),
    text: [`by ${transition.actor}`, transition.reason].filter((part) => part !== "").join(": "),
  }));
}

/** Lists the steps of a task. */
export async function listSteps(session: Session, written: string): Promise<number> {
  const found = await all(session, written, async (page, options) => {
    const { steps, nextPageToken } = await session.client(TaskService).listSteps(page, options);
    return { records: steps, nextPageToken };
  });
  return show(session, "steps", StepSchema, found, (step: Step) => ({
    gutter: String(step.seq),
    label: step.decision === "" ? step.kind : step.decision.replaceAll("_", " "),
    text: step.text,
  }));
}

/** Lists the tool calls of a task. */
export async function listCalls(session: Session, written: string): Promise<number> {
  const found = await all(session, written, async (page, options) => {
    const { toolCalls, nextPageToken } = await session.client(TaskService).listToolCalls(page, options);
    return { records: toolCalls, nextPageToken };
  });
  return show(session, "calls", ToolCallSchema, found, (call: ToolCall) => ({
    gutter: String(call.stepSeq),
    label: call.tool,
    text: [callStateName(call.state), call.summary || call.argumentsPreview].filter((part) => part !== "").join(" · "),
    ...(call.endedAt === undefined ? {} : { duration: durationOf(Number(call.durationMs)) }),
  }));
}

function told(session: Session, task: Task | undefined, taskId: string, say: (id: string) => string): number {
  if (task === undefined) throw notFound("task", taskId);
  if (session.json) printJson(session.terminal, { task: jsonOf(TaskSchema, task) });
  else session.terminal.print(`${say(task.id)}\n`);
  return exitCodes.ok;
}

/** Every page of a task's records. */
async function all<R>(
  session: Session,
  written: string,
  list: (
    page: { readonly taskId: string; readonly pageSize: number; readonly pageToken: string },
    options: { readonly signal: AbortSignal },
  ) => Promise<{ readonly records: readonly R[]; readonly nextPageToken: string }>,
): Promise<readonly R[]> {
  const taskId = await taskIdOf(session, written);
  const found: R[] = [];
  let pageToken = "";
  do {
    const page = await list({ taskId, pageSize: 500, pageToken }, { signal: session.signal });
    found.push(...page.records);
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  return found;
}

interface Line {
  readonly gutter: string;
  readonly label: string;
  readonly text: string;
  readonly duration?: string;
}

/** Columns that a label takes at least. */
const labelColumns = 22;
/** Lines of one record's text. */
const mostLines = 2;

function show<D extends DescMessage>(
  session: Session,
  name: string,
  schema: D,
  records: readonly MessageShape<D>[],
  lineOf: (record: MessageShape<D>) => Line,
): number {
  const { terminal } = session;
  if (session.json) {
    printJson(terminal, { [name]: records.map((record) => jsonOf(schema, record)) });
    return exitCodes.ok;
  }
  if (records.length === 0) terminal.print(`No ${name} yet.\n`);
  const palette = paletteOf(terminal.color);
  for (const record of records) {
    const line = lineOf(record);
    const row = {
      ...line,
      gutter: line.gutter.padStart(3),
      label: oneLine(line.label),
      text: oneLine(line.text),
      ...{ labelColumns, most: mostLines },
    };
    for (const text of rowLines(row, terminal.width, palette)) terminal.print(`${text}\n`);
  }
  return exitCodes.ok;
}
