import { type Bus, patterns, type Subscription } from "@drover/bus";
import type { CancelTask } from "../application/cancel-task.ts";
import type { Log } from "../application/ports.ts";

/** Hears every task's cancel; each replica hears all of them, because the run may be on any. */
export function listenForCancels(bus: Bus, cancels: CancelTask, log: Log): Subscription {
  return bus.subscribe(patterns.allCancels(), ({ tokens }) => {
    const [tenant = "", taskId = ""] = tokens;
    cancels.cancel(tenant, taskId).catch((error: unknown) => {
      log.error({ err: error, tenant, task_id: taskId }, "a cancel could not be remembered");
    });
  });
}
