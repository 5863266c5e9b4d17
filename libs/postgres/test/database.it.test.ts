import path from "node:path";
import { type FreshDatabase, freshDatabase, startPostgres } from "@drover/testkit";
import { sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { migrate, openDatabase } from "../src/index.ts";
import { databaseContract } from "./database.contract.ts";

describe("on a Postgres server", () => {
  let database: FreshDatabase;
  beforeAll(async () => {
    database = await freshDatabase();
  });
  afterAll(() => database[Symbol.asyncDispose]());
  databaseContract(() => database.url);
});

describe("a Postgres server that is away", () => {
  test("is UNAVAILABLE at once where nobody listens", async () => {
    await using db = openDatabase({ url: "postgres://postgres:x@127.0.0.1:1/postgres", service: "herd" });
    await expect(db.ping()).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
    await expect(db.withTenant("t", async () => "ran")).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("is UNAVAILABLE for the transaction it breaks, and the pool recovers when it is back", async () => {
    await using server = await startPostgres();
    await using db = openDatabase({ url: server.url, service: "herd", poolMax: 2 });
    await migrate({ url: server.url, service: "herd", directory: path.join(import.meta.dirname, "fixtures", "herd") });
    await db.ping();
    const broken = db.withTenant("t", async (tx) => {
      await server.stop();
      return await sql`SELECT 1`.execute(tx);
    });
    await expect(broken).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await expect(db.ping()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await server.start();
    await expect.poll(() => db.ping().then(() => "up", String), { timeout: 20_000 }).toBe("up");
    expect(await db.withTenant("t", async () => "ran")).toBe("ran");
  });
});
