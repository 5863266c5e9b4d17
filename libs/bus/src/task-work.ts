import { DroverError } from "@drover/kernel";
import type { Bus } from "./bus.ts";
import { patterns } from "./subjects.ts";

/** On whose behalf something is done. */
interface OnBehalf {
  readonly tenant: string;
  /** Undefined where it is done for no task. */
  readonly taskId: string | undefined;
}

/** The work of a process that a task's cancel stops. Disposing ends the listening, not the work. */
export interface TaskWork extends AsyncDisposable {
  /**
   * Does `work` with a signal that aborts when `signal` does, or when a cancel of the task is heard while it runs; the
   * reason is then CANCELLED, TASK_CANCELLED. Work that begins later is not touched: whoever asks for it knows of the
   * cancel, and may have to record what is left of the task.
   */
  during<T>(task: OnBehalf, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T>;
}

/** Hears the cancels of all tasks, as every service does that works for tasks, whether its caller lives or not. */
export function stopWithTasks(bus: Bus): TaskWork {
  const working = new Map<string, Set<AbortController>>();
  const heard = bus.subscribe(patterns.allCancels(), ({ tokens: [tenant = "", taskId = ""] }) => {
    const reason = new DroverError("CANCELLED", "The task was cancelled.", { reason: "TASK_CANCELLED" });
    for (const controller of working.get(`${tenant}/${taskId}`) ?? []) controller.abort(reason);
  });
  return {
    async during({ tenant, taskId }, signal, work) {
      if (taskId === undefined) return await work(signal);
      const key = `${tenant}/${taskId}`;
      const controller = new AbortController();
      const others = working.get(key) ?? new Set();
      working.set(key, others.add(controller));
      try {
        return await work(AbortSignal.any([signal, controller.signal]));
      } finally {
        others.delete(controller);
        if (others.size === 0 && working.get(key) === others) working.delete(key);
      }
    },
    [Symbol.asyncDispose]: () => heard[Symbol.asyncDispose](),
  };
}
