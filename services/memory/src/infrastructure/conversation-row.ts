import { notFound } from "@drover/kernel";
import type { Transaction } from "kysely";
import type { Owner } from "../application/ports.ts";
import type { MemorySchema } from "./schema.ts";

/** A transaction on the schema. */
export type MemoryTransaction = Transaction<MemorySchema>;

/**
 * Makes the conversation where it is new and locks its row until the commit, so that sequences have
 * no gap. NOT_FOUND when it is another subject's.
 */
export async function lockConversation(
  tx: MemoryTransaction,
  owner: Owner,
  conversationId: string,
): Promise<{ readonly lastSequence: number }> {
  await tx
    .insertInto("conversation")
    .values({ tenant_id: owner.tenant, conversation_id: conversationId, subject: owner.subject })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  const row = await tx
    .selectFrom("conversation")
    .select(["subject", "last_sequence"])
    .where("tenant_id", "=", owner.tenant)
    .where("conversation_id", "=", conversationId)
    .forUpdate()
    .executeTakeFirst();
  if (row === undefined || row.subject !== owner.subject) throw notFound("conversation", conversationId);
  return { lastSequence: row.last_sequence };
}

/** The newest sequence of a conversation; NOT_FOUND when it does not exist or is another subject's. */
export async function findConversation(
  tx: MemoryTransaction,
  owner: Owner,
  conversationId: string,
): Promise<{ readonly lastSequence: number }> {
  const row = await tx
    .selectFrom("conversation")
    .select("last_sequence")
    .where("tenant_id", "=", owner.tenant)
    .where("conversation_id", "=", conversationId)
    .where("subject", "=", owner.subject)
    .executeTakeFirst();
  if (row === undefined) throw notFound("conversation", conversationId);
  return { lastSequence: row.last_sequence };
}
