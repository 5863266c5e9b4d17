import { createHash } from "node:crypto";
import { invalidField, newId, notFound, throwIfAborted } from "@drover/kernel";
import type { Database } from "@drover/postgres";
import type { Transaction } from "kysely";
import type { BlobTables } from "./blob-tables.ts";
import { collect } from "./collect.ts";

/** A stored body. */
export interface Blob {
  readonly id: string;
  /** Bytes. */
  readonly size: number;
  /** SHA-256 of the body, in lower-case hex. */
  readonly sha256: string;
  readonly contentType: string;
}

export interface BlobLimits {
  /** Largest body. A body is held in memory while it is written. Default 64 MB. */
  readonly maxBytes?: number;
}

export interface PutOptions {
  /** Default `application/octet-stream`. */
  readonly contentType?: string;
}

/** A part of a body; without `length` it reaches to the end, and what lies beyond the end is left out. */
export interface BlobRange {
  readonly offset?: number;
  readonly length?: number;
}

/**
 * Bodies too large for a column of a row, in the service's own database. A body never changes; it is there whole or not
 * at all. The `…In` forms work within a transaction of the caller, so that a row and the body it names are committed
 * together.
 */
export interface BlobStore<Schema> {
  /** Stores a body. The source is read before the transaction begins. INVALID_ARGUMENT when it is over the limit. */
  put(
    tenant: string,
    body: Uint8Array | AsyncIterable<Uint8Array>,
    options?: PutOptions,
    signal?: AbortSignal,
  ): Promise<Blob>;
  putIn(tx: Transaction<Schema>, tenant: string, body: Uint8Array, options?: PutOptions): Promise<Blob>;
  /** What is stored under the id; NOT_FOUND also for a body of another tenant. */
  stat(tenant: string, id: string, signal?: AbortSignal): Promise<Blob>;
  /** The bytes, in pieces of at most 256 KB, each read when it is asked for. NOT_FOUND as {@link stat}. */
  read(tenant: string, id: string, range?: BlobRange, signal?: AbortSignal): AsyncIterable<Uint8Array>;
  /** Removes a body; false when there was none. */
  delete(tenant: string, id: string, signal?: AbortSignal): Promise<boolean>;
  deleteIn(tx: Transaction<Schema>, tenant: string, id: string): Promise<boolean>;
}

/** Bytes of a piece; the migration's comment and every stored body rely on it. */
const chunkBytes = 256 * 1024;
const defaultMaxBytes = 64 * 1024 * 1024;

/** A blob store over the tables that {@link blobMigrations} makes. */
export function createBlobStore<Schema extends BlobTables>(
  db: Database<Schema>,
  limits: BlobLimits = {},
): BlobStore<Schema> {
  const maxBytes = limits.maxBytes ?? defaultMaxBytes;
  return {
    async put(tenant, body, options = {}, signal) {
      const bytes = body instanceof Uint8Array ? body : await collect(body, maxBytes, signal);
      checkSize(bytes, maxBytes);
      return await db.withTenant(tenant, (tx) => insert(tablesOf(tx), tenant, bytes, options), signal);
    },
    async putIn(tx, tenant, body, options = {}) {
      checkSize(body, maxBytes);
      return await insert(tablesOf(tx), tenant, body, options);
    },
    stat: (tenant, id, signal) => db.withTenant(tenant, (tx) => find(tablesOf(tx), tenant, id), signal),
    read: (tenant, id, range = {}, signal) => read(db, tenant, id, range, signal),
    delete: (tenant, id, signal) => db.withTenant(tenant, (tx) => remove(tablesOf(tx), tenant, id), signal),
    deleteIn: (tx, tenant, id) => remove(tablesOf(tx), tenant, id),
  };
}

/** The blob tables of a schema that has others too; Kysely's types do not narrow by themselves. */
function tablesOf<Schema extends BlobTables>(tx: Transaction<Schema>): Transaction<BlobTables> {
  return tx as unknown as Transaction<BlobTables>;
}

async function insert(
  tx: Transaction<BlobTables>,
  tenant: string,
  body: Uint8Array,
  options: PutOptions,
): Promise<Blob> {
  const id = newId();
  const digest = createHash("sha256").update(body).digest();
  const contentType = options.contentType ?? "application/octet-stream";
  await tx
    .insertInto("blob")
    .values({ tenant_id: tenant, id, size: body.byteLength, sha256: digest, content_type: contentType })
    .execute();
  for (let ordinal = 0; ordinal * chunkBytes < body.byteLength; ordinal++) {
    const data = body.subarray(ordinal * chunkBytes, (ordinal + 1) * chunkBytes);
    await tx.insertInto("blob_chunk").values({ tenant_id: tenant, blob_id: id, ordinal, data }).execute();
  }
  return { id, size: body.byteLength, sha256: digest.toString("hex"), contentType };
}

async function find(tx: Transaction<BlobTables>, tenant: string, id: string): Promise<Blob> {
  const row = await tx
    .selectFrom("blob")
    .select(["size", "sha256", "content_type"])
    .where("tenant_id", "=", tenant)
    .where("id", "=", id)
    .executeTakeFirst();
  if (row === undefined) throw notFound("blob", id);
  return { id, size: row.size, sha256: Buffer.from(row.sha256).toString("hex"), contentType: row.content_type };
}

async function remove(tx: Transaction<BlobTables>, tenant: string, id: string): Promise<boolean> {
  const result = await tx.deleteFrom("blob").where("tenant_id", "=", tenant).where("id", "=", id).executeTakeFirst();
  return result.numDeletedRows > 0n;
}

async function* read<Schema extends BlobTables>(
  db: Database<Schema>,
  tenant: string,
  id: string,
  range: BlobRange,
  signal: AbortSignal | undefined,
): AsyncGenerator<Uint8Array, void> {
  const { offset = 0, length = Number.MAX_SAFE_INTEGER } = range;
  if (!(Number.isSafeInteger(offset) && offset >= 0)) throw invalidField("offset", String(offset), "0 or more");
  if (!(Number.isSafeInteger(length) && length >= 0)) throw invalidField("length", String(length), "0 or more");
  const { size } = await db.withTenant(tenant, (tx) => find(tablesOf(tx), tenant, id), signal);
  const end = Math.min(size, offset + length);
  for (let at = offset; at < end; ) {
    throwIfAborted(signal);
    const ordinal = Math.floor(at / chunkBytes);
    const start = ordinal * chunkBytes;
    // A transaction a piece: a slow reader must not hold one open.
    const data = await db.withTenant(tenant, (tx) => piece(tablesOf(tx), tenant, id, ordinal), signal);
    yield data.subarray(at - start, end - start);
    at = start + data.byteLength;
  }
}

async function piece(tx: Transaction<BlobTables>, tenant: string, id: string, ordinal: number): Promise<Uint8Array> {
  const row = await tx
    .selectFrom("blob_chunk")
    .select("data")
    .where("tenant_id", "=", tenant)
    .where("blob_id", "=", id)
    .where("ordinal", "=", ordinal)
    .executeTakeFirst();
  // Removed while it was read.
  if (row === undefined) throw notFound("blob", id);
  return row.data;
}

function checkSize(body: Uint8Array, maxBytes: number): void {
  if (body.byteLength > maxBytes) throw invalidField("body", `${body.byteLength} bytes`, `at most ${maxBytes} bytes`);
}
