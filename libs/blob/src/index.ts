export {
  type Blob,
  type BlobLimits,
  type BlobRange,
  type BlobStore,
  createBlobStore,
  type PutOptions,
} from "./blob-store.ts";
export { type BlobTables, blobMigrations } from "./blob-tables.ts";
