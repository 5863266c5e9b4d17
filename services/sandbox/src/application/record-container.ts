import type { Execution } from "../domain/execution.ts";
import type { ExecutionStore, Log } from "./ports.ts";

/** Records which container an execution got. Where it cannot, the container's own label must do; nothing is thrown. */
export async function recordContainer(
  { executions, log }: { readonly executions: ExecutionStore; readonly log: Log },
  { tenant, id }: Pick<Execution, "tenant" | "id">,
  container: string,
): Promise<void> {
  await executions.gotContainer(tenant, id, container).catch((error: unknown) => {
    log.warn({ err: error, execution: id, container }, "the container of a run could not be recorded");
  });
}
