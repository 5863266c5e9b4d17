import type { Database } from "@drover/postgres";
import type { Selectable, Transaction } from "kysely";
import type { KeyStore, NewApiKey } from "../application/ports.ts";
import type { ApiKey } from "../domain/api-key.ts";
import type { GatewaySchema } from "./schema.ts";

/** The jobs that see all tenants: a key names its tenant only after it was found. */
export const systemJobs = ["authenticate", "bootstrap"] as const;

/** The keys in Postgres. */
export function createKeyTable(db: Database<GatewaySchema>): KeyStore {
  return {
    async find(id) {
      const row = await db.withSystem("authenticate", (tx) =>
        tx.selectFrom("api_key").selectAll().where("id", "=", id).executeTakeFirst(),
      );
      return row === undefined ? undefined : keyOf(row);
    },

    async touch({ tenant, id }, usedAt) {
      await db.withTenant(tenant, (tx) =>
        tx
          .updateTable("api_key")
          .set({ last_used_at: usedAt })
          .where("tenant_id", "=", tenant)
          .where("id", "=", id)
          .execute(),
      );
    },

    createFirst: (tenant, make) =>
      db.withSystem("bootstrap", async (tx) => {
        await lockTenant(tx, tenant);
        const any = await tx.selectFrom("api_key").select("id").limit(1).executeTakeFirst();
        if (any !== undefined) return false;
        await insertKey(tx, await make());
        return true;
      }),

    insert: (key) =>
      db.withSystem("bootstrap", async (tx) => {
        await lockTenant(tx, key.tenant);
        return await insertKey(tx, key);
      }),

    sessionSecret: (candidate) =>
      db.withSystem("bootstrap", async (tx) => {
        const row = { name: "session", value: candidate };
        await tx
          .insertInto("server_secret")
          .values(row)
          .onConflict((on) => on.column("name").doNothing())
          .execute();
        const stored = tx.selectFrom("server_secret").select("value").where("name", "=", "session");
        return (await stored.executeTakeFirstOrThrow()).value;
      }),
  };
}

/** Makes the tenant where it is missing and holds its row, so that starters come one after the other. */
async function lockTenant(tx: Transaction<GatewaySchema>, tenant: string): Promise<void> {
  await tx
    .insertInto("tenant")
    .values({ tenant_id: tenant })
    .onConflict((on) => on.column("tenant_id").doNothing())
    .execute();
  await tx.selectFrom("tenant").select("tenant_id").where("tenant_id", "=", tenant).forUpdate().execute();
}

async function insertKey(tx: Transaction<GatewaySchema>, key: NewApiKey): Promise<boolean> {
  const { id, subject, digest } = key;
  const row = { tenant_id: key.tenant, id, subject, scopes: [...key.scopes], digest, digest_kind: key.digestKind };
  const inserted = await tx
    .insertInto("api_key")
    .values(row)
    .onConflict((on) => on.doNothing())
    .returning("id")
    .executeTakeFirst();
  return inserted !== undefined;
}

function keyOf(row: Selectable<GatewaySchema["api_key"]>): ApiKey {
  return {
    id: row.id,
    tenant: row.tenant_id,
    subject: row.subject,
    scopes: row.scopes,
    digest: row.digest,
    digestKind: row.digest_kind === "hmac-sha256" ? "hmac-sha256" : "sha256",
    revokedAt: row.revoked_at ?? undefined,
  };
}
