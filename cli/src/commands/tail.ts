import { notFound } from "@drover/kernel";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import type { Session } from "../session.ts";
import { showTask } from "../show-task.ts";
import { taskIdOf } from "../task-id.ts";

/** Shows a task's events after `from` and follows it to its end. */
export async function tail(session: Session, written: string, from: bigint): Promise<number> {
  const taskId = await taskIdOf(session, written);
  const { task } = await session.client(TaskService).getTask({ taskId }, { signal: session.signal });
  if (task === undefined) throw notFound("task", taskId);
  return await showTask(session, task, from);
}
