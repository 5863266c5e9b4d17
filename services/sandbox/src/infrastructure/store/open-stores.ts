import { fileURLToPath } from "node:url";
import { type Database, type DatabaseOptions, migrate, openDatabase } from "@drover/postgres";
import type { Erase } from "@drover/rpc";
import { createEraser } from "./eraser.ts";
import { PostgresExecutions } from "./postgres-executions.ts";
import { type Instance, PostgresLedger, systemJobs } from "./postgres-ledger.ts";
import { PostgresOwnerRows } from "./postgres-owner-rows.ts";
import { PostgresWorkspaces } from "./postgres-workspaces.ts";
import type { SandboxSchema } from "./schema.ts";

/** The service's stores over one database; disposing waits for running work and closes it. */
export interface Stores extends AsyncDisposable {
  readonly database: Database<SandboxSchema>;
  readonly executions: PostgresExecutions;
  readonly workspaces: PostgresWorkspaces;
  readonly ledger: PostgresLedger;
  readonly owners: PostgresOwnerRows;
  readonly eraser: Erase;
}

const service = "sandbox";
const directory = fileURLToPath(new URL("../../../migrations", import.meta.url));

/** Brings the schema up to date and opens it. UNAVAILABLE where there is no database. */
export async function openStores(
  options: Omit<DatabaseOptions, "service" | "systemJobs">,
  instance: Instance,
  retentionDays: number,
): Promise<Stores> {
  await migrate({ url: options.url, service, directory });
  const database = openDatabase<SandboxSchema>({ ...options, service, systemJobs });
  return {
    database,
    executions: new PostgresExecutions(database, instance),
    workspaces: new PostgresWorkspaces(database),
    ledger: new PostgresLedger(database, instance, retentionDays),
    owners: new PostgresOwnerRows(database, instance),
    eraser: createEraser(database),
    [Symbol.asyncDispose]: () => database[Symbol.asyncDispose](),
  };
}
