import type { BlobStore } from "@drover/blob";
import { DroverError } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import type { Owner, PreparedSpill, SpillRange, SpillStore, StoredSpill } from "../application/ports.ts";
import { resolveRange, wholeCharacters } from "../domain/range.ts";
import { findConversation, lockConversation, type MemoryTransaction } from "./conversation-row.ts";
import type { MemorySchema } from "./schema.ts";
import { decodeUnits, encodeUnits } from "./unit-encoding.ts";

/** Large bodies in the blob store, named by rows of the table `spill`. */
export interface SpillBodies extends SpillStore {
  /** Stores a body within the transaction that holds the conversation's lock; see {@link SpillStore.put}. */
  putIn(tx: MemoryTransaction, owner: Owner, conversationId: string, spill: PreparedSpill): Promise<StoredSpill>;
}

type Blobs = BlobStore<MemorySchema>;
type Place = { readonly owner: Owner; readonly conversationId: string; readonly callId: string };

/** Makes {@link SpillBodies}. */
export function createSpillBodies(database: Database<MemorySchema>, blobs: Blobs): SpillBodies {
  return {
    putIn: (tx, owner, conversationId, spill) => put(tx, blobs, { owner, conversationId, callId: spill.callId }, spill),
    put: (owner, conversationId, spill, signal) =>
      database.withTenant(
        owner.tenant,
        async (tx) => {
          await lockConversation(tx, owner, conversationId);
          return await put(tx, blobs, { owner, conversationId, callId: spill.callId }, spill);
        },
        signal,
      ),
    async read(owner, conversationId, callId, { offset, length }, signal) {
      const place = { owner, conversationId, callId };
      const found = await database.withTenant(owner.tenant, (tx) => find(tx, place), signal);
      if (found === undefined) return undefined;
      const range = resolveRange(offset, length, found.characters);
      const end = Math.min(found.characters, range.end + 1);
      const text =
        found.kind === "log"
          ? found.text.slice(range.start, end)
          : await readUnits(blobs, owner.tenant, found, { start: range.start, end }, signal);
      const view = wholeCharacters(text, range);
      return { text: view.text, offset: view.start, totalCharacters: found.characters } satisfies SpillRange;
    },
  };
}

async function put(tx: MemoryTransaction, blobs: Blobs, place: Place, spill: PreparedSpill): Promise<StoredSpill> {
  const { owner, conversationId, callId } = place;
  const stored = { sizeBytes: spill.sizeBytes, characters: spill.text.length };
  const present = await spillRow(tx, place);
  if (present !== undefined) {
    if (present.content_hash === spill.contentHash) return stored;
    throw new DroverError("ALREADY_EXISTS", `Call ${callId} has a stored result with another content.`, {
      reason: "SPILL_EXISTS",
    });
  }
  const { bytes, unitBytes } = encodeUnits(spill.text);
  const blob = await blobs.putIn(tx, owner.tenant, bytes, { contentType: "text/plain" });
  await tx
    .insertInto("spill")
    .values({
      tenant_id: owner.tenant,
      conversation_id: conversationId,
      call_id: callId,
      blob_id: blob.id,
      unit_bytes: unitBytes,
      size_bytes: stored.sizeBytes,
      characters: stored.characters,
      content_hash: spill.contentHash,
    })
    .execute();
  return stored;
}

function spillRow(tx: MemoryTransaction, { owner, conversationId, callId }: Place) {
  return tx
    .selectFrom("spill")
    .select(["blob_id", "unit_bytes", "characters", "content_hash"])
    .where("tenant_id", "=", owner.tenant)
    .where("conversation_id", "=", conversationId)
    .where("call_id", "=", callId)
    .executeTakeFirst();
}

type FoundBody =
  | { readonly kind: "blob"; readonly blobId: string; readonly unitBytes: number; readonly characters: number }
  | { readonly kind: "log"; readonly text: string; readonly characters: number };

/** A result below the threshold stands in the log itself; a context may have shown its preview all the same. */
async function find(tx: MemoryTransaction, place: Place): Promise<FoundBody | undefined> {
  await findConversation(tx, place.owner, place.conversationId);
  const spill = await spillRow(tx, place);
  if (spill !== undefined) {
    return { kind: "blob", blobId: spill.blob_id, unitBytes: spill.unit_bytes, characters: spill.characters };
  }
  const message = await tx
    .selectFrom("message")
    .select("body")
    .where("tenant_id", "=", place.owner.tenant)
    .where("conversation_id", "=", place.conversationId)
    .where("tool_call_id", "=", place.callId)
    .executeTakeFirst();
  return message && { kind: "log", text: message.body, characters: message.body.length };
}

async function readUnits(
  blobs: Blobs,
  tenant: string,
  body: Extract<FoundBody, { readonly kind: "blob" }>,
  range: { readonly start: number; readonly end: number },
  signal: AbortSignal,
): Promise<string> {
  const { unitBytes } = body;
  const part = { offset: range.start * unitBytes, length: (range.end - range.start) * unitBytes };
  const pieces: Uint8Array[] = [];
  for await (const piece of blobs.read(tenant, body.blobId, part, signal)) pieces.push(piece);
  return decodeUnits(Buffer.concat(pieces), unitBytes);
}
