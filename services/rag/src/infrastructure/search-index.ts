import type { Database } from "@drover/postgres";
import { sql, type Transaction } from "kysely";
import { toSql } from "pgvector";
import type { FoundPassage, SearchIndex, SearchQuery } from "../application/ports.ts";
import type { FusedPassage } from "../domain/fusion.ts";
import type { LexicalTerms } from "../domain/lexical.ts";
import type { RagSchema } from "./schema.ts";

/** Divides the rank by 1 + the logarithm of the document's length; the best of the forms tried for OR queries. */
const byLength = 1;

/** Both legs in Postgres: full text with `ts_rank`, vectors by exact cosine distance. */
export function createSearchIndex(database: Database<RagSchema>): SearchIndex {
  return {
    search: (tenant, query, fuse, signal) =>
      database.withTenant(
        tenant,
        async (tx) => {
          const lexical = await lexicalLeg(tx, tenant, query);
          const near = query.vector === undefined ? [] : await vectorLeg(tx, tenant, query, query.vector);
          return await passagesOf(tx, tenant, fuse(lexical, near));
        },
        signal,
      ),
  };
}

async function lexicalLeg(tx: Transaction<RagSchema>, tenant: string, query: SearchQuery): Promise<string[]> {
  if (query.terms.words.length + query.terms.grams.length === 0) return [];
  const wanted = tsQuery(query.terms);
  const rows = await tx
    .selectFrom("chunk")
    .select("chunk_id")
    .where("tenant_id", "=", tenant)
    .where("collection", "=", query.collection)
    .where(sql<boolean>`terms @@ ${wanted}`)
    .orderBy(sql`ts_rank(terms, ${wanted}, ${byLength})`, "desc")
    .orderBy("chunk_id")
    .limit(query.candidates)
    .execute();
  return rows.map((row) => row.chunk_id);
}

/** Any of the terms. They hold letters and digits only, so none of them can be an operator. */
function tsQuery({ words, grams }: LexicalTerms) {
  const parts = [
    ...(words.length > 0 ? [sql`to_tsquery('english', ${words.join(" | ")})`] : []),
    ...(grams.length > 0 ? [sql`to_tsquery('simple', ${grams.join(" | ")})`] : []),
  ];
  return sql`(${sql.join(parts, sql` || `)})`;
}

/** Every vector of the collection is compared: exact, and quick up to some ten thousand chunks. */
async function vectorLeg(
  tx: Transaction<RagSchema>,
  tenant: string,
  query: SearchQuery,
  vector: readonly number[],
): Promise<string[]> {
  const rows = await tx
    .selectFrom("chunk")
    .select("chunk_id")
    .where("tenant_id", "=", tenant)
    .where("collection", "=", query.collection)
    .orderBy(sql`embedding <=> ${toSql([...vector])}::vector`)
    .orderBy("chunk_id")
    .limit(query.candidates)
    .execute();
  return rows.map((row) => row.chunk_id);
}

async function passagesOf(
  tx: Transaction<RagSchema>,
  tenant: string,
  picked: readonly FusedPassage[],
): Promise<FoundPassage[]> {
  if (picked.length === 0) return [];
  const ids = picked.map((passage) => passage.chunkId);
  const rows = await tx
    .selectFrom("chunk")
    .innerJoin("document", (join) =>
      join.onRef("document.tenant_id", "=", "chunk.tenant_id").onRef("document.document_id", "=", "chunk.document_id"),
    )
    .select(["chunk_id", "chunk.document_id", "name", "heading_path", "body", "start_offset", "end_offset"])
    .where("chunk.tenant_id", "=", tenant)
    .where("chunk_id", "in", ids)
    .execute();
  const byId = new Map(rows.map((row) => [row.chunk_id, row]));
  return picked.flatMap((passage) => {
    const row = byId.get(passage.chunkId);
    if (row === undefined) return [];
    const { document_id, name, heading_path, body, start_offset, end_offset } = row;
    const place = { documentId: document_id, documentName: name, headingPath: heading_path };
    return [{ ...passage, ...place, text: body, start: start_offset, end: end_offset }];
  });
}
