import { notFound } from "@drover/kernel";
import { TaskSchema } from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { exitCodes } from "../exit-codes.ts";
import { jsonOf, printJson } from "../json-output.ts";
import { isOver, stateName } from "../render/names.ts";
import type { Session } from "../session.ts";
import { taskIdOf } from "../task-id.ts";

/** Asks for a task's end; says so where it had ended already. */
export async function cancel(session: Session, written: string, reason: string): Promise<number> {
  const taskId = await taskIdOf(session, written);
  const { task } = await session.client(TaskService).cancelTask({ taskId, reason }, { signal: session.signal });
  if (task === undefined) throw notFound("task", taskId);
  if (session.json) printJson(session.terminal, { task: jsonOf(TaskSchema, task) });
  else if (isOver(task.state)) session.terminal.print(`task ${task.id} has ended: ${stateName(task.state)}\n`);
  else session.terminal.print(`task ${task.id} is being cancelled; watch it end: drover tail ${task.id}\n`);
  return exitCodes.ok;
}
