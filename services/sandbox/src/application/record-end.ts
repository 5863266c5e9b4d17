import type { Clock } from "@drover/kernel";
import type { Execution } from "../domain/execution.ts";
import { patiently } from "./patiently.ts";
import type { ExecutionStore, Log } from "./ports.ts";

/** Records an end, patiently. One that cannot be recorded is still told to who follows; the record then ends as lost. */
export async function recordEnd(
  { executions, clock, log }: { readonly executions: ExecutionStore; readonly clock: Clock; readonly log: Log },
  ended: Execution,
): Promise<void> {
  const again = (error: unknown, attempt: number) => {
    log.error({ err: error, execution: ended.id, attempt }, "the end of a run could not be recorded");
    return true;
  };
  await patiently(clock, () => executions.finish(ended), again).catch(() => undefined);
}
