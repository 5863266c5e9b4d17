import { setTimeout as delay } from "node:timers/promises";
import { DroverError } from "@drover/kernel";
import pg from "pg";
import { bootstrap, inTurn } from "./bootstrap.ts";
import { asDatabaseError } from "./database-errors.ts";
import { type MigrationFile, type MigrationSet, readMigrations } from "./migration-files.ts";
import { rolesOf } from "./roles.ts";
import { checkTables, grantAccess } from "./schema-access.ts";

export interface MigrateOptions {
  /** Login of a user that may create roles, or is a member of the service's three roles already. */
  readonly url: string;
  readonly service: string;
  /** Absolute path of the service's `migrations` folder. */
  readonly directory: string;
  /** Sets of libraries whose tables live in this schema; they come before the service's own. */
  readonly include?: readonly MigrationSet[];
  /** How long a database that is away is waited for. Default 30,000 ms: it often starts together with its services. */
  readonly startWaitMs?: number;
}

/** Between two attempts while the database is away. */
const againMs = 500;

/**
 * Brings a service's schema up to date and tells which files were applied (none where it was). Forward only: each file
 * is one transaction that starts with its own row of the record, and starters of a service take turns: one applies a file
 * and the others wait. Extensions that the files create are made beforehand by the login user.
 *
 * FAILED_PRECONDITION when a file fails (it then leaves nothing), when the text of an applied file has changed, or when
 * a table with a tenant_id lacks forced row-level security; UNAVAILABLE when there is no database in time.
 */
export async function migrate(options: MigrateOptions): Promise<{ readonly applied: readonly string[] }> {
  const until = performance.now() + (options.startWaitMs ?? 30_000);
  for (;;) {
    try {
      return await migrateOnce(options);
    } catch (error) {
      const away = error instanceof DroverError && error.code === "UNAVAILABLE";
      if (!away || performance.now() + againMs > until) throw error;
      await delay(againMs);
    }
  }
}

async function migrateOnce(options: MigrateOptions): Promise<{ readonly applied: readonly string[] }> {
  const { service, directory, include = [] } = options;
  rolesOf(service);
  const sets = [...include, { name: service, directory }];
  const files = (await Promise.all(sets.map(readMigrations))).flat();
  const client = new pg.Client({
    connectionString: options.url,
    application_name: `drover-${service}-migrate`,
    connectionTimeoutMillis: 30_000,
  });
  // The failing statement tells; without a listener a lost connection would end the process.
  client.on("error", () => {});
  try {
    await client.connect();
    if (pending(files, await applied(client, service)).length === 0) return { applied: [] };
    await bootstrap(client, service, extensionsOf(files));
    const names: string[] = [];
    for (const file of pending(files, await applied(client, service))) {
      if (await applyFile(client, service, file)) names.push(`${file.set}/${file.name}`);
    }
    return { applied: names };
  } catch (error) {
    throw asDatabaseError(error);
  } finally {
    await client.end().catch(() => {});
  }
}

type Applied = ReadonlyMap<string, string>;

async function applied(client: pg.Client, service: string): Promise<Applied> {
  const { rows } = await client.query("SELECT to_regclass($1) IS NOT NULL AS present", [`${service}.migration`]);
  if (rows[0]?.present !== true) return new Map();
  const record = await client.query(`SELECT set_name, version, checksum FROM ${service}.migration`);
  return new Map(record.rows.map((row) => [`${row.set_name}/${row.version}`, String(row.checksum)]));
}

function pending(files: readonly MigrationFile[], record: Applied): MigrationFile[] {
  return files.filter((file) => {
    const checksum = record.get(`${file.set}/${file.version}`);
    if (checksum !== undefined && checksum !== file.checksum) {
      throw new DroverError(
        "FAILED_PRECONDITION",
        `Migration ${file.set}/${file.name} was changed after it was applied; restore it and add a new file instead.`,
        { reason: "MIGRATION_CHANGED" },
      );
    }
    return checksum === undefined;
  });
}

/** False when another starter has applied the file in the meantime. */
async function applyFile(client: pg.Client, service: string, file: MigrationFile): Promise<boolean> {
  try {
    return await inTurn(client, service, async () => {
      const roles = rolesOf(service);
      await client.query(`SET LOCAL ROLE ${roles.migrator}; SET LOCAL search_path TO ${service}, public`);
      const claimed = await client.query(
        `INSERT INTO ${service}.migration (set_name, version, name, checksum) VALUES ($1, $2, $3, $4)
         ON CONFLICT DO NOTHING`,
        [file.set, file.version, file.name, file.checksum],
      );
      if (claimed.rowCount === 0) return false;
      await client.query(file.sql);
      await checkTables(client, service);
      await client.query("RESET ROLE");
      await grantAccess(client, service);
      return true;
    });
  } catch (error) {
    const known = asDatabaseError(error);
    if (known instanceof DroverError) throw known;
    const said = error instanceof Error ? error.message : String(error);
    throw new DroverError("FAILED_PRECONDITION", `Migration ${file.set}/${file.name} failed: ${said}`, {
      reason: "MIGRATION_FAILED",
      cause: error,
    });
  }
}

/** The extensions that the files ask for; most of them only a superuser may create. */
function extensionsOf(files: readonly MigrationFile[]): string[] {
  const names = files.flatMap((file) =>
    [...file.sql.matchAll(/^\s*create\s+extension\s+if\s+not\s+exists\s+"?([a-z_]+)"?/gim)].map((match) =>
      String(match[1]),
    ),
  );
  return [...new Set(names)];
}
