import { createHash, randomUUID } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { type MigrateOptions, migrate } from "@drover/postgres";
import pg from "pg";
import { inject } from "vitest";

/** A migrated, empty database for one test file; disposing drops it. */
export interface FreshDatabase extends AsyncDisposable {
  readonly url: string;
  /** Runs a statement as the server's administrator, whom no policy of rows stops: a test ages or breaks what is stored. */
  execute(statement: string): Promise<void>;
}

/**
 * Makes a database on the run's Postgres server. The schemas of `services` are migrated once per server and content of
 * their files, into a template that later calls copy. Only in projects with testkit's global set-up.
 */
export async function freshDatabase(...services: readonly Omit<MigrateOptions, "url">[]): Promise<FreshDatabase> {
  const server = inject("postgresUrl");
  const template = `template_${await fingerprint(services)}`;
  const name = `test_${randomUUID().replaceAll("-", "")}`;
  await asAdmin(server, async (admin) => {
    // Session locks do exclude on a real server, and CREATE DATABASE cannot stand in a transaction.
    await admin.query("SELECT pg_advisory_lock(hashtext($1))", [template]);
    const { rowCount } = await admin.query("SELECT 1 FROM pg_database WHERE datname = $1", [template]);
    if (rowCount === 0) await makeTemplate(admin, server, template, services);
    await admin.query(`CREATE DATABASE ${name} TEMPLATE ${template}`);
  });
  return {
    url: databaseUrl(server, name),
    execute: (statement) => asAdmin(databaseUrl(server, name), async (admin) => void (await admin.query(statement))),
    [Symbol.asyncDispose]: () =>
      asAdmin(server, async (admin) => void (await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`))),
  };
}

async function makeTemplate(
  admin: pg.Client,
  server: string,
  template: string,
  services: readonly Omit<MigrateOptions, "url">[],
): Promise<void> {
  // Renamed when complete: a template that failed half-way is never copied.
  const draft = `draft_${randomUUID().replaceAll("-", "")}`;
  await admin.query(`CREATE DATABASE ${draft}`);
  try {
    for (const service of services) await migrate({ ...service, url: databaseUrl(server, draft) });
    await admin.query(`ALTER DATABASE ${draft} RENAME TO ${template}`);
  } catch (error) {
    await admin.query(`DROP DATABASE IF EXISTS ${draft} WITH (FORCE)`);
    throw error;
  }
}

async function asAdmin(server: string, work: (admin: pg.Client) => Promise<void>): Promise<void> {
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  try {
    await work(admin);
  } finally {
    await admin.end();
  }
}

function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function fingerprint(services: readonly Omit<MigrateOptions, "url">[]): Promise<string> {
  const hash = createHash("sha256");
  for (const { service, directory, include = [] } of services) {
    for (const folder of [...include.map((set) => set.directory), directory]) {
      for (const file of (await readdir(folder)).sort()) {
        hash.update(`${service}\0${file}\0`).update(await readFile(path.join(folder, file)));
      }
    }
  }
  return hash.digest("hex").slice(0, 16);
}
