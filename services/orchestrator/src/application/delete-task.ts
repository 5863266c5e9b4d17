import { DroverError } from "@drover/kernel";
import { checkTaskId } from "../domain/submission.ts";
import type { TaskRecords } from "./record-ports.ts";

/** Removes a task that has ended, and its logs. One that is not there is no error; FAILED_PRECONDITION while it runs. */
export async function deleteTask(records: TaskRecords, tenant: string, taskId: string): Promise<void> {
  checkTaskId(taskId);
  if ((await records.remove(tenant, taskId)) === "running") {
    throw new DroverError("FAILED_PRECONDITION", "The task has not ended. Cancel it first.", {
      reason: "TASK_RUNNING",
    });
  }
}
