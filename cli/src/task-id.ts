import { isId, notFound } from "@drover/kernel";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { usageFailure } from "./failure.ts";
import type { Session } from "./session.ts";

/** How many of the newest tasks a short id is looked for in. */
const newest = 200;

/**
 * The full id for what a person wrote: an id as it is, or the beginning (6 characters or more) of exactly one of the
 * newest 200 tasks. NOT_FOUND where there is none, a usage failure where there are several. Anything else is a
 * usage failure.
 */
export async function taskIdOf(session: Session, written: string): Promise<string> {
  const text = written.toLowerCase();
  if (isId(text)) return text;
  if (!/^[0-9a-f]{6}[0-9a-f-]*$/.test(text)) {
    throw usageFailure(
      `${JSON.stringify(written)} is no task.`,
      "Give the id that `drover run` printed, or its first 6 characters or more.",
    );
  }
  const { tasks } = await session.client(TaskService).listTasks({ pageSize: newest }, { signal: session.signal });
  const [id, ...others] = tasks.map((task) => task.id).filter((candidate) => candidate.startsWith(text));
  if (id === undefined) throw notFound("task", text);
  if (others.length > 0) {
    throw usageFailure(
      `${text} is the beginning of several tasks.`,
      `Write more of one: ${[id, ...others].slice(0, 8).join(", ")}.`,
    );
  }
  return id;
}
