import { sql } from "kysely";
import type { ExtractionRecord, ExtractionResult, ExtractionTask, ExtractionUsage } from "../application/fact-ports.ts";
import type { Owner } from "../application/ports.ts";
import { extractorVersion } from "../domain/extraction-question.ts";
import type { FactCounts } from "../domain/fact-plan.ts";
import type { MemoryTransaction } from "./conversation-row.ts";

/** The newest extraction of a task, with what all of them have cost. */
export async function extractionOf(
  tx: MemoryTransaction,
  owner: Owner,
  task: ExtractionTask,
): Promise<ExtractionRecord | undefined> {
  const rows = await tx
    .selectFrom("extraction")
    .selectAll()
    .where("tenant_id", "=", owner.tenant)
    .where("conversation_id", "=", task.conversationId)
    .where("task_id", "=", task.taskId)
    .orderBy("through_sequence", "desc")
    .execute();
  const [newest] = rows;
  if (newest === undefined) return undefined;
  const sum = (of: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + of(row), 0);
  const { outcome, fault, model, added, updated, ended, unchanged, refused } = newest;
  return {
    ...{ outcome, fault, model, added, updated, ended, unchanged, refused },
    throughSequence: newest.through_sequence,
    usage: {
      inputTokens: sum((row) => row.input_tokens),
      outputTokens: sum((row) => row.output_tokens),
      cachedInputTokens: sum((row) => row.cached_input_tokens),
      reasoningTokens: sum((row) => row.reasoning_tokens),
      costNanoUsd: rows.some((row) => row.cost_nano_usd === null) ? null : sum((row) => row.cost_nano_usd ?? 0),
    },
  };
}

/** Writes what an answer came to. */
export async function insertExtraction(
  tx: MemoryTransaction,
  owner: Owner,
  task: ExtractionTask,
  { throughSequence, model, usage, answer }: ExtractionResult,
  counts: FactCounts,
): Promise<void> {
  await tx
    .insertInto("extraction")
    .values({
      tenant_id: owner.tenant,
      conversation_id: task.conversationId,
      task_id: task.taskId,
      through_sequence: throughSequence,
      outcome: "fault" in answer ? "malformed" : "extracted",
      extractor_version: extractorVersion,
      model,
      fault: "fault" in answer ? answer.fault : "",
      ...counts,
      input_tokens: usage.inputTokens,
      output_tokens: usage.outputTokens,
      cached_input_tokens: usage.cachedInputTokens,
      reasoning_tokens: usage.reasoningTokens,
      cost_nano_usd: usage.costNanoUsd,
    })
    .execute();
}

/** Adds the cost of an answer that came second to the record of the first, which it returns. */
export async function recordAfter(
  tx: MemoryTransaction,
  owner: Owner,
  second: { readonly task: ExtractionTask; readonly throughSequence: number; readonly usage: ExtractionUsage },
): Promise<ExtractionRecord> {
  const { task, throughSequence, usage } = second;
  await sql`UPDATE extraction SET input_tokens = input_tokens + ${usage.inputTokens},
      output_tokens = output_tokens + ${usage.outputTokens},
      cached_input_tokens = cached_input_tokens + ${usage.cachedInputTokens},
      reasoning_tokens = reasoning_tokens + ${usage.reasoningTokens},
      cost_nano_usd = cost_nano_usd + ${usage.costNanoUsd}::bigint
    WHERE tenant_id = ${owner.tenant} AND conversation_id = ${task.conversationId} AND task_id = ${task.taskId}
      AND through_sequence = ${throughSequence}`.execute(tx);
  const record = await extractionOf(tx, owner, task);
  if (record === undefined) throw new Error("The extraction that was there is gone.");
  return record;
}
