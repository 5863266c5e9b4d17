import type { Selectable } from "kysely";
import type { Fact } from "../domain/fact.ts";
import type { MemorySchema } from "./schema.ts";

/** The columns that {@link factOfRow} reads. */
export const factColumns = [
  "scope",
  "subject",
  "agent",
  "fact_id",
  "line_id",
  "body",
  "importance",
  "conversation_id",
  "task_id",
  "message_sequence",
  "valid_from",
  "valid_to",
  "superseded_by",
] as const;

/** The fact of a row. */
export function factOfRow(row: Pick<Selectable<MemorySchema["fact"]>, (typeof factColumns)[number]>): Fact {
  return {
    scope: row.scope,
    subject: row.subject,
    agent: row.agent,
    id: row.fact_id,
    lineId: row.line_id,
    text: row.body,
    importance: row.importance,
    conversationId: row.conversation_id,
    taskId: row.task_id,
    messageSequence: row.message_sequence,
    validFrom: row.valid_from,
    validTo: row.valid_to ?? undefined,
    supersededBy: row.superseded_by ?? undefined,
  };
}
