import { newId } from "@drover/kernel";
import type { Insertable, Selectable } from "kysely";
import type { Owner, PreparedMessage } from "../application/ports.ts";
import type { HashedMessage } from "../domain/append-plan.ts";
import type { MemorySchema } from "./schema.ts";

/** A message with its place in the log. */
export function placedMessage(message: PreparedMessage, sequence: number, now: Date): HashedMessage {
  const { draft, tokens, contentHash } = message;
  return { ...draft, id: newId(now.getTime()), sequence, createdAt: now, tokens, contentHash };
}

/** The row of a placed message. */
export function rowOfMessage(
  owner: Owner,
  conversationId: string,
  message: HashedMessage,
): Insertable<MemorySchema["message"]> {
  return {
    tenant_id: owner.tenant,
    conversation_id: conversationId,
    sequence: message.sequence,
    message_id: message.id,
    role: message.role,
    body: message.text,
    tool_calls: JSON.stringify(message.toolCalls),
    tool_call_id: message.toolCallId,
    spill_pointer: message.spillPointer,
    full_characters: message.fullCharacters,
    client_message_id: message.clientMessageId,
    pinned: message.pinned,
    task_id: message.taskId,
    tokens: message.tokens,
    content_hash: message.contentHash,
    created_at: message.createdAt,
  };
}

/** The message of a row. */
export function messageOfRow(row: Selectable<MemorySchema["message"]>): HashedMessage {
  return {
    id: row.message_id,
    sequence: row.sequence,
    role: row.role,
    text: row.body,
    toolCalls: row.tool_calls,
    toolCallId: row.tool_call_id,
    spillPointer: row.spill_pointer,
    fullCharacters: row.full_characters,
    clientMessageId: row.client_message_id,
    pinned: row.pinned,
    taskId: row.task_id,
    tokens: row.tokens,
    contentHash: row.content_hash,
    createdAt: row.created_at,
  };
}
