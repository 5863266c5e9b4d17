export { type Database, type DatabaseOptions, openDatabase } from "./database.ts";
export { isUniqueViolation } from "./database-errors.ts";
export { type EmbeddedPostgres, type EmbeddedPostgresOptions, startEmbeddedPostgres } from "./embedded.ts";
export { type MigrateOptions, migrate } from "./migrate.ts";
export type { MigrationSet } from "./migration-files.ts";
