import type { BlobTables } from "@drover/blob";
import type { ColumnType, Generated } from "kysely";

interface CollectionTable {
  tenant_id: string;
  name: string;
  embedder_id: string;
  dimensions: number;
  created_at: Generated<Date>;
}

interface DocumentTable {
  tenant_id: string;
  document_id: string;
  collection: string;
  name: string;
  media_type: string;
  size_bytes: number;
  sha256: string;
  chunk_count: number;
  /** Null only between two statements of the upload. */
  blob_id: string | null;
  created_at: Date;
}

/** Written and compared in SQL, never read. */
type IndexColumn = ColumnType<never, string, never>;

interface ChunkTable {
  tenant_id: string;
  document_id: string;
  ordinal: number;
  chunk_id: string;
  collection: string;
  heading_path: readonly string[];
  body: string;
  start_offset: number;
  end_offset: number;
  terms: IndexColumn;
  embedding: IndexColumn;
}

interface DeletedDocumentTable {
  tenant_id: string;
  document_id: string;
  deleted_at: Generated<Date>;
}

/** Tables of the schema `rag`; see migrations/. */
export interface RagSchema extends BlobTables {
  collection: CollectionTable;
  document: DocumentTable;
  chunk: ChunkTable;
  deleted_document: DeletedDocumentTable;
}
