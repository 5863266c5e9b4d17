import type { Tracer } from "@drover/tracing";
import type { Task } from "../domain/task.ts";
import { isTerminal } from "../domain/task-state.ts";
import type { TaskSignals } from "./ports.ts";
import { endRoot, startRoot, tellState } from "./task-session.ts";

/** A task was ended by the database alone: its watchers are told, and its span in the trace is closed. */
export function tellEnd(
  parts: { readonly signals: Pick<TaskSignals, "committed">; readonly tracer: Tracer },
  task: Task,
  by: { readonly actor: string; readonly reason: string; readonly input: string },
): void {
  parts.signals.committed(task.tenant, task.id, task.lastSequence);
  // Somebody resumed it meanwhile: the trace goes on.
  if (!isTerminal(task.state)) return;
  const root = startRoot(parts.tracer, task);
  tellState(root, { to: task.state, ...by }, undefined);
  endRoot(root, task);
}
