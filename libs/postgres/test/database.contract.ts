import path from "node:path";
import { type Kysely, sql } from "kysely";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Database, isUniqueViolation, migrate, openDatabase } from "../src/index.ts";

interface HerdSchema {
  animal: { tenant_id: string; id: string; weight: number };
}

const herd = { service: "herd", directory: path.join(import.meta.dirname, "fixtures", "herd") };

/** What every database must do for a service. `urlOf` gives an empty database. */
export function databaseContract(urlOf: () => string): void {
  let db: Database<HerdSchema>;

  beforeAll(async () => {
    const starters = Array.from({ length: 5 }, () => migrate({ url: urlOf(), ...herd }));
    const applied = (await Promise.all(starters)).flatMap((it) => it.applied);
    // Whichever starter came first: each file was applied exactly once.
    expect(applied.sort()).toEqual(["herd/000001_animals.sql", "herd/000002_functions.sql"]);
    db = openDatabase<HerdSchema>({ url: urlOf(), service: "herd", poolMax: 2, systemJobs: ["count"] });
  });
  afterAll(() => db[Symbol.asyncDispose]());

  const add = (tx: Kysely<HerdSchema>, tenant: string, id: string, weight = 1) =>
    tx.insertInto("animal").values({ tenant_id: tenant, id, weight }).execute();

  describe("a tenant", () => {
    test("sees its own rows only, with 50 transactions of two tenants at once on two connections", async () => {
      const one = async (index: number) => {
        const tenant = index % 2 === 0 ? "even" : "odd";
        await db.withTenant(tenant, async (tx) => {
          await add(tx, tenant, `a${index}`, index);
          const rows = await tx.selectFrom("animal").select(["tenant_id", "weight"]).execute();
          expect(rows.every((row) => row.tenant_id === tenant)).toBe(true);
          expect(rows.some((row) => row.weight === index)).toBe(true);
        });
      };
      await Promise.all(Array.from({ length: 50 }, (_, index) => one(index)));
      const total = await db.withSystem("count", (tx) =>
        tx
          .selectFrom("animal")
          .select(sql<number>`count(*)`.as("n"))
          .where("id", "like", "a%")
          .executeTakeFirstOrThrow(),
      );
      expect(total.n).toBe(50);
    });

    test("cannot write a row of another one", async () => {
      const crossing = db.withTenant("even", (tx) => add(tx, "odd", "stolen"));
      await expect(crossing).rejects.toThrow(/row-level security/);
      const update = await db.withTenant("even", (tx) =>
        tx.updateTable("animal").set({ weight: 9 }).where("tenant_id", "=", "odd").executeTakeFirst(),
      );
      expect(update.numUpdatedRows).toBe(0n);
    });

    test.each(["", "a'b", "a b", "a.b", "x".repeat(65)])(
      "named %j is refused before anything is sent",
      async (tenant) => {
        await expect(db.withTenant(tenant, async () => "ran")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
      },
    );
  });

  test("without a tenant no row is visible", async () => {
    await db.withTenant("even", (tx) => add(tx, "even", "visible"));
    const seen = await db.withTenant("even", async (tx) => {
      await sql`SELECT set_config('app.tenant', '', true)`.execute(tx);
      return await tx.selectFrom("animal").selectAll().execute();
    });
    expect(seen).toEqual([]);
  });

  test("a transaction that throws leaves nothing, and its connection is usable", async () => {
    const failing = db.withTenant("even", async (tx) => {
      await add(tx, "even", "ghost");
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    const ghost = await db.withTenant("even", (tx) =>
      tx.selectFrom("animal").selectAll().where("id", "=", "ghost").execute(),
    );
    expect(ghost).toEqual([]);
  });

  test("an abort before the commit rolls back and rejects with its reason", async () => {
    const stop = new AbortController();
    const work = db.withTenant("even", (tx) => add(tx, "even", "aborted").then(() => stop.abort()), stop.signal);
    await expect(work).rejects.toMatchObject({ code: "CANCELLED" });
    await expect(db.withTenant("even", async () => "ran", stop.signal)).rejects.toMatchObject({ code: "CANCELLED" });
    const rows = await db.withTenant("even", (tx) =>
      tx.selectFrom("animal").selectAll().where("id", "=", "aborted").execute(),
    );
    expect(rows).toEqual([]);
  });

  test("a taken key is told from other errors", async () => {
    const twice = db.withTenant("even", (tx) => add(tx, "even", "twin").then(() => add(tx, "even", "twin")));
    const error = await twice.catch((reason: unknown) => reason);
    expect(isUniqueViolation(error, "animal_pkey")).toBe(true);
    expect(isUniqueViolation(error, "other_key")).toBe(false);
  });

  test("a bigint is a number, and one beyond the safe integers an error", async () => {
    const read = (value: string) =>
      db.withTenant("even", (tx) => sql<{ v: number }>`SELECT ${value}::bigint AS v`.execute(tx));
    expect((await read("9007199254740991")).rows[0]?.v).toBe(Number.MAX_SAFE_INTEGER);
    await expect(read("9007199254740993")).rejects.toThrow(RangeError);
  });

  describe("a system job", () => {
    test("that was not declared is refused", async () => {
      await expect(db.withSystem("snoop", async () => "ran")).rejects.toMatchObject({ code: "PERMISSION_DENIED" });
    });

    test("leaves no right behind on the tenants' connections", async () => {
      await db.withTenant("t1", (tx) => add(tx, "t1", "x"));
      await db.withSystem("count", (tx) => tx.selectFrom("animal").selectAll().execute());
      const rows = await db.withTenant("t2", (tx) => tx.selectFrom("animal").selectAll().execute());
      expect(rows).toEqual([]);
    });
  });

  describe("a function of the schema", () => {
    type Added = { weight: number; seen: number; role: string };

    test("runs as the tenant role, many at once, each with its own parameters", async () => {
      const call = (index: number) => db.callAsService<Added>("add_animal", [`f${index}`, `f${index}`, "only", index]);
      const results = await Promise.all(Array.from({ length: 40 }, (_, index) => call(index)));
      expect(results.flat()).toEqual(
        Array.from({ length: 40 }, (_, index) => ({ weight: index, seen: 1, role: "drover_herd" })),
      );
    });

    test("may give one JSON value, many at once", async () => {
      const call = (weight: number) => db.callForJson("weigh_animals", [`j${weight}`, { weight }]);
      const values = await Promise.all(Array.from({ length: 20 }, (_, index) => call(index)));
      expect(values).toEqual(
        Array.from({ length: 20 }, (_, weight) => ({ asked: weight, seen: 0, role: "drover_herd" })),
      );
      await expect(db.callForJson("as_login", [])).rejects.toMatchObject({ code: "INTERNAL" });
    });

    test("cannot write a row of another tenant", async () => {
      const crossing = db.callAsService("add_animal", ["t1", "t2", "stolen", 1]);
      await expect(crossing).rejects.toThrow(/row-level security/);
    });

    test("that would run as the login user is refused", async () => {
      await expect(db.callAsService("as_login", [])).rejects.toMatchObject({ code: "INTERNAL" });
    });
  });

  test("a ping answers, and an aborted one rejects", async () => {
    await db.ping(AbortSignal.timeout(5_000));
    await expect(db.ping(AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
  });
}
