import path from "node:path";
import type { MigrationSet } from "@drover/postgres";

/** The tables that a service with bodies has in its schema; part of its Kysely schema. */
export interface BlobTables {
  blob: { tenant_id: string; id: string; size: number; sha256: Uint8Array; content_type: string };
  blob_chunk: { tenant_id: string; blob_id: string; ordinal: number; data: Uint8Array };
}

/** Makes those tables: `migrate({ …, include: [blobMigrations] })`. */
export const blobMigrations: MigrationSet = {
  name: "blob",
  directory: path.join(import.meta.dirname, "..", "migrations"),
};
