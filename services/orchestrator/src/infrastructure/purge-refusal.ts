import { DroverError } from "@drover/kernel";

/** As the schema raises it where a task would begin while what is kept about its subject is being removed. */
const refusalState = "DR001";

/** Waits for a write that begins or resumes a task. FAILED_PRECONDITION, reason PURGE_RUNNING, where it was refused. */
export async function unlessPurged<T>(write: Promise<T>): Promise<T> {
  try {
    return await write;
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error) || error.code !== refusalState) throw error;
    throw new DroverError("FAILED_PRECONDITION", "What is kept about the subject of this task is being removed.", {
      reason: "PURGE_RUNNING",
      cause: error,
    });
  }
}
