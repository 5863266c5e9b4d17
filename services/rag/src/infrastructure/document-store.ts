import type { BlobStore } from "@drover/blob";
import type { Database } from "@drover/postgres";
import { type Selectable, sql, type Transaction } from "kysely";
import type { DocumentQuery, DocumentStore, PreparedDocument } from "../application/ports.ts";
import { requireSameEmbedder } from "../domain/collection.ts";
import type { EmbedderIdentity, IndexedDocument } from "../domain/document.ts";
import { replaceChunks } from "./chunk-rows.ts";
import type { RagSchema } from "./schema.ts";

/** Documents in Postgres. */
export function createDocumentStore(database: Database<RagSchema>, blobs: Blobs): DocumentStore {
  return {
    embedderOf: (tenant, collection, signal) =>
      database.withTenant(tenant, (tx) => embedderOf(tx, tenant, collection), signal),
    findByName: (tenant, collection, name, signal) =>
      database.withTenant(
        tenant,
        async (tx) => {
          const row = await documentsOf(tx, tenant)
            .where("collection", "=", collection)
            .where(sql`name COLLATE "C"`, "=", name)
            .executeTakeFirst();
          return row && documentOfRow(row);
        },
        signal,
      ),
    put: (tenant, document, embedder, signal) =>
      database.withTenant(
        tenant,
        async (tx) => {
          await claimCollection(tx, tenant, document.collection, embedder);
          const { blob_id: replaced, ...row } = await putDocument(tx, tenant, document);
          await putOriginal(tx, blobs, tenant, row.document_id, document.original);
          if (replaced !== null) await blobs.deleteIn(tx, tenant, replaced);
          await replaceChunks(tx, tenant, row, document.chunks);
          return documentOfRow(row);
        },
        signal,
      ),
    get: (tenant, id, signal) =>
      database.withTenant(
        tenant,
        async (tx) => {
          const row = await documentsOf(tx, tenant).where("document_id", "=", id).executeTakeFirst();
          return row && documentOfRow(row);
        },
        signal,
      ),
    list: (tenant, query, signal) =>
      database.withTenant(
        tenant,
        async (tx) => (await listQuery(tx, tenant, query).execute()).map(documentOfRow),
        signal,
      ),
    delete: (tenant, id, signal) => database.withTenant(tenant, (tx) => deleteDocument(tx, blobs, tenant, id), signal),
  };
}

type RagTransaction = Transaction<RagSchema>;
type Blobs = BlobStore<RagSchema>;
type DocumentRow = Selectable<RagSchema["document"]>;

function documentsOf(tx: RagTransaction, tenant: string) {
  return tx.selectFrom("document").selectAll().where("tenant_id", "=", tenant);
}

function listQuery(tx: RagTransaction, tenant: string, { collection, after, limit }: DocumentQuery) {
  let query = documentsOf(tx, tenant);
  if (collection !== "") query = query.where("collection", "=", collection);
  if (after !== undefined) {
    query = query.where(sql<boolean>`(name COLLATE "C", document_id) > (${after.name}, ${after.id}::uuid)`);
  }
  return query.orderBy(sql`name COLLATE "C"`).orderBy("document_id").limit(limit);
}

async function embedderOf(tx: RagTransaction, tenant: string, name: string): Promise<EmbedderIdentity | undefined> {
  const row = await tx
    .selectFrom("collection")
    .select(["embedder_id", "dimensions"])
    .where("tenant_id", "=", tenant)
    .where("name", "=", name)
    .executeTakeFirst();
  return row && { id: row.embedder_id, dimensions: row.dimensions };
}

/** Fixes the collection's embedder at its first document; a later one must be of the same. */
async function claimCollection(
  tx: RagTransaction,
  tenant: string,
  name: string,
  embedder: EmbedderIdentity,
): Promise<void> {
  await tx
    .insertInto("collection")
    .values({ tenant_id: tenant, name, embedder_id: embedder.id, dimensions: embedder.dimensions })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  requireSameEmbedder(name, await embedderOf(tx, tenant, name), embedder);
}

/**
 * The row of a name is locked until the commit, so that of two uploads at once one comes after the
 * other. The row that is given back still names the original that it replaces.
 */
async function putDocument(tx: RagTransaction, tenant: string, document: PreparedDocument): Promise<DocumentRow> {
  return await tx
    .insertInto("document")
    .values({
      tenant_id: tenant,
      document_id: document.id,
      collection: document.collection,
      name: document.name,
      media_type: document.mediaType,
      size_bytes: document.sizeBytes,
      sha256: document.sha256,
      chunk_count: document.chunks.length,
      blob_id: null,
      created_at: document.createdAt,
    })
    .onConflict((conflict) =>
      conflict.expression(sql`tenant_id, collection, name COLLATE "C"`).doUpdateSet((row) => ({
        media_type: row.ref("excluded.media_type"),
        size_bytes: row.ref("excluded.size_bytes"),
        sha256: row.ref("excluded.sha256"),
        chunk_count: row.ref("excluded.chunk_count"),
      })),
    )
    .returningAll()
    .executeTakeFirstOrThrow();
}

async function putOriginal(
  tx: RagTransaction,
  blobs: Blobs,
  tenant: string,
  id: string,
  original: Uint8Array,
): Promise<void> {
  const blob = await blobs.putIn(tx, tenant, original);
  await tx
    .updateTable("document")
    .set({ blob_id: blob.id })
    .where("tenant_id", "=", tenant)
    .where("document_id", "=", id)
    .execute();
}

async function deleteDocument(
  tx: RagTransaction,
  blobs: Blobs,
  tenant: string,
  id: string,
): Promise<number | undefined> {
  // The row first: an upload of the same name that runs now waits, then makes a document of its own.
  const row = await documentsOf(tx, tenant).where("document_id", "=", id).forUpdate().executeTakeFirst();
  if (row === undefined) {
    const known = tx.selectFrom("deleted_document").select("document_id").where("tenant_id", "=", tenant);
    return (await known.where("document_id", "=", id).executeTakeFirst()) === undefined ? undefined : 0;
  }
  await tx.deleteFrom("document").where("tenant_id", "=", tenant).where("document_id", "=", id).execute();
  if (row.blob_id !== null) await blobs.deleteIn(tx, tenant, row.blob_id);
  const tombstone = tx.insertInto("deleted_document").values({ tenant_id: tenant, document_id: id });
  await tombstone.onConflict((conflict) => conflict.doNothing()).execute();
  return row.chunk_count;
}

function documentOfRow(row: Omit<DocumentRow, "blob_id">): IndexedDocument {
  return {
    id: row.document_id,
    collection: row.collection,
    name: row.name,
    mediaType: row.media_type,
    sizeBytes: row.size_bytes,
    sha256: row.sha256,
    chunkCount: row.chunk_count,
    createdAt: row.created_at,
  };
}
