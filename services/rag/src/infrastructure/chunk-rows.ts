import { storableText } from "@drover/kernel";
import { sql, type Transaction } from "kysely";
import { toSql } from "pgvector";
import type { IndexedChunk } from "../domain/document.ts";
import type { RagSchema } from "./schema.ts";

/** Rows written by one statement; Postgres takes 65,535 parameters. */
const insertRows = 200;

/** Writes the chunks of a document with both indexes, in the place of those it had. */
export async function replaceChunks(
  tx: Transaction<RagSchema>,
  tenant: string,
  document: { readonly document_id: string; readonly collection: string },
  chunks: readonly IndexedChunk[],
): Promise<void> {
  const { document_id, collection } = document;
  await tx.deleteFrom("chunk").where("tenant_id", "=", tenant).where("document_id", "=", document_id).execute();
  for (let from = 0; from < chunks.length; from += insertRows) {
    const rows = chunks.slice(from, from + insertRows).map((chunk, at) => ({
      tenant_id: tenant,
      document_id,
      ordinal: from + at,
      chunk_id: `${document_id}-${chunk.id}`,
      collection,
      heading_path: chunk.headingPath.map(storableText),
      body: storableText(chunk.text),
      start_offset: chunk.start,
      end_offset: chunk.end,
      terms: sql<string>`to_tsvector('english', ${chunk.words}) || to_tsvector('simple', ${chunk.grams})`,
      embedding: sql<string>`${toSql([...chunk.embedding])}::vector`,
    }));
    await tx.insertInto("chunk").values(rows).execute();
  }
}
