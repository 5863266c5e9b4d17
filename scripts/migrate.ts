import path from "node:path";
import { blobMigrations } from "../libs/blob/src/index.ts";
import { migrate } from "../libs/postgres/src/index.ts";

/** Services that keep bodies in `libs/blob`'s tables. */
const withBlobs: ReadonlySet<string> = new Set(["memory", "rag"]);

const service = process.argv[2];
const url = process.env.DATABASE_URL;
if (service === undefined || url === undefined) {
  process.stderr.write("usage: DATABASE_URL=postgres://… make migrate SERVICE=<service>\n");
  process.exit(2);
}
const directory = path.join(import.meta.dirname, "..", "services", service, "migrations");
const include = withBlobs.has(service) ? [blobMigrations] : [];
const { applied } = await migrate({ url, service, directory, include });
process.stdout.write(applied.length === 0 ? "up to date\n" : `${applied.join("\n")}\n`);
