import { DroverError } from "@drover/kernel";
import type pg from "pg";
import { rolesOf } from "./roles.ts";

/**
 * Gives the tenant and the system role what they need of everything in the schema, and makes the tenant role the owner
 * of every SECURITY DEFINER function, so that row-level security holds inside it.
 */
export async function grantAccess(client: pg.Client, service: string): Promise<void> {
  const { tenant, system } = rolesOf(service);
  await client.query(`
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${service} TO ${tenant}, ${system};
    GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA ${service} TO ${tenant}, ${system};
    REVOKE ALL ON ${service}.migration FROM ${tenant}, ${system};
    REVOKE ALL ON ALL ROUTINES IN SCHEMA ${service} FROM PUBLIC;
    GRANT EXECUTE ON ALL ROUTINES IN SCHEMA ${service} TO ${tenant}, ${system}`);
  const { rows } = await client.query<{ signature: string }>(
    `SELECT p.oid::regprocedure::text AS signature FROM pg_proc p
     WHERE p.pronamespace = to_regnamespace($1) AND p.prosecdef AND p.proowner <> to_regrole($2)`,
    [service, tenant],
  );
  if (rows.length === 0) return;
  // Only an owner with CREATE on the schema can be given a function; the right lasts for these statements.
  const statements = rows.flatMap(({ signature }) => [
    `ALTER ROUTINE ${signature} SET search_path TO ${service}, public, pg_temp`,
    `ALTER ROUTINE ${signature} OWNER TO ${tenant}`,
  ]);
  await client.query(
    [
      `GRANT CREATE ON SCHEMA ${service} TO ${tenant}`,
      ...statements,
      `REVOKE CREATE ON SCHEMA ${service} FROM ${tenant}`,
    ].join(";\n"),
  );
}

/** FAILED_PRECONDITION when a table with a tenant_id is not guarded, or its primary key does not begin with it. */
export async function checkTables(client: pg.Client, service: string): Promise<void> {
  const { rows } = await client.query<{ name: string; guarded: boolean; leads: boolean }>(
    `SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS guarded,
            COALESCE(k.indkey[0] = a.attnum, true) AS leads
     FROM pg_class c
     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
     LEFT JOIN pg_index k ON k.indrelid = c.oid AND k.indisprimary
     WHERE c.relnamespace = to_regnamespace($1) AND c.relkind IN ('r', 'p')
     ORDER BY c.relname`,
    [service],
  );
  const faults = rows.flatMap(({ name, guarded, leads }) => [
    ...(guarded ? [] : [`${name} needs ENABLE and FORCE ROW LEVEL SECURITY`]),
    ...(leads ? [] : [`the primary key of ${name} must begin with tenant_id`]),
  ]);
  if (faults.length === 0) return;
  throw new DroverError("FAILED_PRECONDITION", `Schema ${service}: ${faults.join("; ")}.`, {
    reason: "TENANT_UNGUARDED",
  });
}
