import type { BlobTables } from "@drover/blob";
import type { ToolCall } from "@drover/model";
import type { ColumnType, Generated } from "kysely";

interface ConversationTable {
  tenant_id: string;
  conversation_id: string;
  subject: string;
  last_sequence: Generated<number>;
  created_at: Generated<Date>;
}

interface MessageTable {
  tenant_id: string;
  conversation_id: string;
  sequence: number;
  message_id: string;
  role: "system" | "user" | "assistant" | "tool";
  body: string;
  /** Written as JSON text, read as parsed. */
  tool_calls: ColumnType<readonly ToolCall[], string, never>;
  tool_call_id: string;
  spill_pointer: string;
  full_characters: number;
  client_message_id: string;
  pinned: boolean;
  task_id: string;
  tokens: number;
  content_hash: string;
  created_at: Date;
}

interface ToolCallTable {
  tenant_id: string;
  conversation_id: string;
  call_id: string;
  sequence: number;
}

interface SpillTable {
  tenant_id: string;
  conversation_id: string;
  call_id: string;
  blob_id: string;
  /** 1 (Latin-1) or 2 (UTF-16LE) for each UTF-16 unit. */
  unit_bytes: number;
  size_bytes: number;
  characters: number;
  content_hash: string;
  created_at: Generated<Date>;
}

interface FactTable {
  tenant_id: string;
  scope: "tenant" | "user" | "agent";
  subject: string;
  agent: string;
  fact_id: string;
  line_id: string;
  body: string;
  body_hash: string;
  importance: number;
  conversation_id: string;
  task_id: string;
  message_sequence: number;
  valid_from: Generated<Date>;
  valid_to: Generated<Date | null>;
  superseded_by: Generated<string | null>;
}

interface FactTombstoneTable {
  tenant_id: string;
  scope: "tenant" | "user" | "agent";
  subject: string;
  agent: string;
  body_hash: string;
  created_at: Generated<Date>;
}

interface ExtractionTable {
  tenant_id: string;
  conversation_id: string;
  task_id: string;
  through_sequence: number;
  outcome: "extracted" | "malformed";
  extractor_version: number;
  model: string;
  fault: string;
  added: number;
  updated: number;
  ended: number;
  unchanged: number;
  refused: number;
  input_tokens: number;
  output_tokens: number;
  cached_input_tokens: number;
  reasoning_tokens: number;
  cost_nano_usd: number | null;
  created_at: Generated<Date>;
}

/** Tables of the schema `memory`; see migrations/. */
export interface MemorySchema extends BlobTables {
  conversation: ConversationTable;
  message: MessageTable;
  tool_call: ToolCallTable;
  spill: SpillTable;
  fact: FactTable;
  fact_tombstone: FactTombstoneTable;
  extraction: ExtractionTable;
}
