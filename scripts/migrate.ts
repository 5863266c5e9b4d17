import path from "node:path";
import { migrate } from "../libs/postgres/src/index.ts";

const service = process.argv[2];
const url = process.env.DATABASE_URL;
if (service === undefined || url === undefined) {
  process.stderr.write("usage: DATABASE_URL=postgres://… make migrate SERVICE=<service>\n");
  process.exit(2);
}
const directory = path.join(import.meta.dirname, "..", "services", service, "migrations");
const { applied } = await migrate({ url, service, directory });
process.stdout.write(applied.length === 0 ? "up to date\n" : `${applied.join("\n")}\n`);
