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
