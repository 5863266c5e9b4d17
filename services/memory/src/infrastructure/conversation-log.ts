import type { Database } from "@drover/postgres";
import type { ConversationLog, Owner, PreparedMessage } from "../application/ports.ts";
import { type HashedMessage, type LogFacts, type Placement, planAppend } from "../domain/append-plan.ts";
import type { LoggedMessage } from "../domain/message.ts";
import { callIdOfPointer } from "../domain/spill-pointer.ts";
import { findConversation, lockConversation, type MemoryTransaction } from "./conversation-row.ts";
import { messageOfRow, placedMessage, rowOfMessage } from "./message-row.ts";
import type { MemorySchema } from "./schema.ts";
import type { SpillBodies } from "./spill-bodies.ts";

/** Rows read at once while a context's newest messages are gathered. */
const pageRows = 256;
/** Rows written by one statement; Postgres takes 65,535 parameters. */
const insertRows = 1000;

/** The log in Postgres. */
export function createConversationLog(database: Database<MemorySchema>, bodies: SpillBodies): ConversationLog {
  return {
    append: (owner, conversationId, messages, field, signal) =>
      database.withTenant(owner.tenant, (tx) => append(tx, bodies, { owner, conversationId, messages, field }), signal),
    list: (owner, conversationId, after, limit, signal) =>
      database.withTenant(
        owner.tenant,
        async (tx) => {
          await findConversation(tx, owner, conversationId);
          const rows = await messagesOf(tx, owner, conversationId)
            .where("sequence", ">", after)
            .orderBy("sequence")
            .limit(limit)
            .execute();
          return rows.map(messageOfRow);
        },
        signal,
      ),
    recent: (owner, conversationId, tokens, signal) =>
      database.withTenant(
        owner.tenant,
        async (tx) => {
          const { lastSequence } = await findConversation(tx, owner, conversationId);
          const messages = await newest(tx, owner, conversationId, lastSequence, tokens);
          return { messages, throughSequence: lastSequence };
        },
        signal,
      ),
  };
}

interface Append {
  readonly owner: Owner;
  readonly conversationId: string;
  readonly messages: readonly PreparedMessage[];
  readonly field: string;
}

async function append(tx: MemoryTransaction, bodies: SpillBodies, request: Append): Promise<LoggedMessage[]> {
  const { owner, conversationId, messages } = request;
  const { lastSequence } = await lockConversation(tx, owner, conversationId);
  const facts = await factsFor(tx, request);
  const placements = planAppend(messages, facts, request.field);
  const now = new Date();
  let sequence = lastSequence;
  const placed = placements.map((placement) =>
    placement.kind === "present" ? placement.message : placedMessage(placement.draft, ++sequence, now),
  );
  if (sequence === lastSequence) return placed;
  // A body goes first: no row ever names one that is missing.
  for (const placement of placements) {
    const spill = placement.kind === "new" ? placement.draft.spill : undefined;
    if (spill !== undefined) await bodies.putIn(tx, owner, conversationId, spill);
  }
  await insertMessages(tx, owner, conversationId, newOnes(placements, placed));
  await tx
    .updateTable("conversation")
    .set({ last_sequence: sequence })
    .where("tenant_id", "=", owner.tenant)
    .where("conversation_id", "=", conversationId)
    .execute();
  return placed;
}

function newOnes(placements: readonly Placement<PreparedMessage>[], placed: readonly HashedMessage[]): HashedMessage[] {
  return placed.filter((_, index) => placements[index]?.kind === "new");
}

async function factsFor(tx: MemoryTransaction, request: Append): Promise<LogFacts> {
  const { owner, conversationId, messages } = request;
  const drafts = messages.map((message) => message.draft);
  const clientIds = drafts.map((draft) => draft.clientMessageId).filter((id) => id !== "");
  const results = drafts.map((draft) => draft.toolCallId).filter((id) => id !== "");
  const asked = drafts.flatMap((draft) => draft.toolCalls.map((call) => call.callId));
  // Pointers that this append makes itself resolve when it is committed.
  const own = messages.flatMap((message) => message.spill?.callId ?? []);
  const pointed = drafts.flatMap((draft) => callIdOfPointer(conversationId, draft.spillPointer) ?? []);
  const present =
    clientIds.length + results.length === 0
      ? []
      : await messagesOf(tx, owner, conversationId)
          .where((row) =>
            row.or([
              ...(clientIds.length > 0 ? [row("client_message_id", "in", clientIds)] : []),
              ...(results.length > 0 ? [row("tool_call_id", "in", results)] : []),
            ]),
          )
          .execute();
  return {
    conversationId,
    present: present.map(messageOfRow),
    knownCalls: await callsIn(tx, "tool_call", request, [...results, ...asked]),
    spilledCalls: new Set([...own, ...(await callsIn(tx, "spill", request, pointed))]),
  };
}

async function callsIn(
  tx: MemoryTransaction,
  table: "tool_call" | "spill",
  { owner, conversationId }: Append,
  callIds: readonly string[],
): Promise<ReadonlySet<string>> {
  if (callIds.length === 0) return new Set();
  const rows = await tx
    .selectFrom(table)
    .select("call_id")
    .where("tenant_id", "=", owner.tenant)
    .where("conversation_id", "=", conversationId)
    .where("call_id", "in", callIds)
    .execute();
  return new Set(rows.map((row) => row.call_id));
}

async function insertMessages(
  tx: MemoryTransaction,
  owner: Owner,
  conversationId: string,
  messages: readonly HashedMessage[],
): Promise<void> {
  await tx
    .insertInto("message")
    .values(messages.map((message) => rowOfMessage(owner, conversationId, message)))
    .execute();
  const calls = messages.flatMap((message) =>
    message.toolCalls.map((call) => ({
      tenant_id: owner.tenant,
      conversation_id: conversationId,
      call_id: call.callId,
      sequence: message.sequence,
    })),
  );
  for (let at = 0; at < calls.length; at += insertRows) {
    await tx
      .insertInto("tool_call")
      .values(calls.slice(at, at + insertRows))
      .execute();
  }
}

async function newest(
  tx: MemoryTransaction,
  owner: Owner,
  conversationId: string,
  through: number,
  tokens: number,
): Promise<LoggedMessage[]> {
  const pinned = await messagesOf(tx, owner, conversationId)
    .where("pinned", "=", true)
    .where("sequence", "<=", through)
    .execute();
  const rows = new Map(pinned.map((row) => [row.sequence, row]));
  let before = through + 1;
  for (let gathered = 0; gathered < tokens && before > 1; ) {
    const page = await messagesOf(tx, owner, conversationId)
      .where("sequence", "<", before)
      .orderBy("sequence", "desc")
      .limit(pageRows)
      .execute();
    for (const row of page) {
      rows.set(row.sequence, row);
      if (!row.pinned) gathered += row.tokens;
    }
    before = page.at(-1)?.sequence ?? 1;
  }
  return [...rows.values()].sort((a, b) => a.sequence - b.sequence).map(messageOfRow);
}

function messagesOf(tx: MemoryTransaction, owner: Owner, conversationId: string) {
  return tx
    .selectFrom("message")
    .selectAll()
    .where("tenant_id", "=", owner.tenant)
    .where("conversation_id", "=", conversationId);
}
