import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { rolesOf } from "./roles.ts";

const attempts = 10;
// Creating the same role, schema or extension twice at once ends in one of these in the loser.
const lostRace = new Set(["23505", "42710", "42P06", "42P07", "40001", "40P01", "XX000"]);

/**
 * Makes what migrations stand on: the service's roles, the login user's membership in them, the extensions, the schema
 * and its record of migrations. Safe with several starters at once, because roles are shared by all databases of a
 * server and cannot be guarded by a lock of one. The login user must be able to create roles (BYPASSRLS included)
 * unless they exist already.
 */
export async function bootstrap(client: pg.Client, service: string, extensions: readonly string[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await inTurn(client, service, () => bootstrapOnce(client, service, extensions));
    } catch (error) {
      const code = error instanceof Error && "code" in error ? String(error.code) : "";
      if (!lostRace.has(code) || attempt === attempts) throw error;
      await delay(20 * attempt * (0.5 + Math.random()));
    }
  }
}

/**
 * Runs `work` between BEGIN and COMMIT, one starter of the service at a time within a database; a throw rolls back and is
 * thrown on. Two that change the rights of one schema at once fail with "tuple concurrently updated".
 */
export async function inTurn<T>(client: pg.Client, service: string, work: () => Promise<T>): Promise<T> {
  await client.query("BEGIN");
  try {
    await client.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [`drover migrate ${service}`]);
    const result = await work();
    await client.query("COMMIT");
    return result;
  } catch (error) {
    // A connection that is gone has rolled back already.
    await client.query("ROLLBACK").catch(() => {});
    throw error;
  }
}

async function bootstrapOnce(client: pg.Client, service: string, extensions: readonly string[]): Promise<void> {
  const roles = rolesOf(service);
  await ensureRole(client, roles.tenant, "NOBYPASSRLS");
  await ensureRole(client, roles.system, "BYPASSRLS");
  await ensureRole(client, roles.migrator, "NOBYPASSRLS");
  for (const extension of extensions) {
    await client.query(`CREATE EXTENSION IF NOT EXISTS "${extension}" WITH SCHEMA public`);
  }
  await client.query(`
    CREATE SCHEMA IF NOT EXISTS ${service} AUTHORIZATION ${roles.migrator};
    GRANT USAGE ON SCHEMA ${service} TO ${roles.tenant}, ${roles.system};
    SET LOCAL ROLE ${roles.migrator};
    CREATE TABLE IF NOT EXISTS ${service}.migration (
      set_name text NOT NULL,
      version integer NOT NULL,
      name text NOT NULL,
      checksum text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now(),
      PRIMARY KEY (set_name, version)
    )`);
}

async function ensureRole(client: pg.Client, role: string, bypass: string): Promise<void> {
  const { rowCount } = await client.query("SELECT 1 FROM pg_roles WHERE rolname = $1", [role]);
  if (rowCount === 0) await client.query(`CREATE ROLE ${role} NOLOGIN ${bypass}`);
  const member = await client.query("SELECT pg_has_role(current_user, $1, 'SET') AS may", [role]);
  if (member.rows[0]?.may !== true) await client.query(`GRANT ${role} TO current_user`);
}
