import { DroverError } from "@drover/kernel";
import type { Transaction } from "kysely";
import type { Execution } from "../../domain/execution.ts";
import { resultColumns } from "./execution-row.ts";
import type { SandboxSchema } from "./schema.ts";

/** Records an execution's end within a transaction. False where an end was recorded before; that one stays. */
export async function writeEnd(tx: Transaction<SandboxSchema>, execution: Execution): Promise<boolean> {
  if (execution.result === undefined) return false;
  const { numUpdatedRows } = await tx
    .updateTable("execution")
    .set(resultColumns(execution, execution.result))
    .where("tenant_id", "=", execution.tenant)
    .where("id", "=", execution.id)
    .where("result", "is", null)
    .executeTakeFirst();
  return numUpdatedRows > 0n;
}

/** Keeps an execution from ending before the transaction does. ABORTED (reason RUN_OVER) where it has ended. */
export async function requireRunning(tx: Transaction<SandboxSchema>, tenant: string, id: string): Promise<void> {
  const running = await tx
    .selectFrom("execution")
    .select("id")
    .where("tenant_id", "=", tenant)
    .where("id", "=", id)
    .where("result", "is", null)
    .forShare()
    .executeTakeFirst();
  if (running === undefined) throw runOver();
}

/** Somebody recorded the end before, which stays. */
export function runOver(): DroverError {
  return new DroverError("ABORTED", "The run is over already.", { reason: "RUN_OVER", retryable: false });
}
