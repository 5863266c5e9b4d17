import type { Clock } from "@drover/kernel";
import type { Execution } from "../domain/execution.ts";
import type { ExecutionStore, Log } from "./ports.ts";

const attempts = 6;

/** Records an end, patiently. One that cannot be recorded is still told to who follows; the record then ends as lost. */
export async function recordEnd(
  { executions, clock, log }: { readonly executions: ExecutionStore; readonly clock: Clock; readonly log: Log },
  ended: Execution,
): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await executions.finish(ended);
    } catch (error) {
      log.error({ err: error, execution: ended.id, attempt }, "the end of a run could not be recorded");
      if (attempt === attempts) return;
      await clock.sleep(100 * 2 ** attempt);
    }
  }
}
