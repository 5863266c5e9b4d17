import { createHash, randomBytes } from "node:crypto";
import path from "node:path";
import { type Database, openDatabase } from "@drover/postgres";
import { type FreshDatabase, freshDatabase } from "@drover/testkit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type BlobRange, type BlobStore, type BlobTables, blobMigrations, createBlobStore } from "../src/index.ts";

interface ShelfSchema extends BlobTables {
  book: { tenant_id: string; id: string; blob_id: string };
}

const kilobyte = 1024;
const directory = path.join(import.meta.dirname, "fixtures", "shelf");
let database: FreshDatabase;
let db: Database<ShelfSchema>;
let store: BlobStore<ShelfSchema>;

beforeAll(async () => {
  database = await freshDatabase({ service: "shelf", directory, include: [blobMigrations] });
  db = openDatabase<ShelfSchema>({ url: database.url, service: "shelf", systemJobs: ["count"] });
  store = createBlobStore(db, { maxBytes: 1024 * kilobyte });
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function readAll(id: string, range?: BlobRange, tenant = "t1"): Promise<Buffer> {
  return Buffer.concat(await Array.fromAsync(store.read(tenant, id, range)));
}

describe("a body", () => {
  test.each([0, 1, 256 * kilobyte - 1, 256 * kilobyte, 256 * kilobyte + 1, 700 * kilobyte])(
    "of %i bytes comes back as it was, with its digest",
    async (size) => {
      const body = randomBytes(size);
      const blob = await store.put("t1", body, { contentType: "text/plain" });
      const sha256 = createHash("sha256").update(body).digest("hex");
      expect(blob).toEqual({ id: blob.id, size, sha256, contentType: "text/plain" });
      expect(await store.stat("t1", blob.id)).toEqual(blob);
      expect((await readAll(blob.id)).equals(body)).toBe(true);
    },
  );

  test.each([
    [0, 10],
    [256 * kilobyte - 5, 10],
    [100, 600 * kilobyte],
    [699 * kilobyte, 5000 * kilobyte],
    [256 * kilobyte, undefined],
    [700 * kilobyte, 1],
    [5, 0],
  ])("can be read from %i for %s bytes", async (offset, length) => {
    const body = randomBytes(700 * kilobyte);
    const { id } = await store.put("t1", body);
    const found = await readAll(id, length === undefined ? { offset } : { offset, length });
    expect(found.equals(body.subarray(offset, length === undefined ? undefined : offset + length))).toBe(true);
  });

  test("may come from a stream", async () => {
    const pieces = [randomBytes(300 * kilobyte), randomBytes(5)];
    const source = (async function* () {
      yield* pieces;
    })();
    const { id } = await store.put("t1", source);
    expect((await readAll(id)).equals(Buffer.concat(pieces))).toBe(true);
  });

  test("over the limit is refused", async () => {
    await expect(store.put("t1", new Uint8Array(1024 * kilobyte + 1))).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
    });
  });

  test("of another tenant is not found, not read and not removed", async () => {
    const { id } = await store.put("t1", randomBytes(10));
    await expect(store.stat("t2", id)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(readAll(id, {}, "t2")).rejects.toMatchObject({ code: "NOT_FOUND" });
    expect(await store.delete("t2", id)).toBe(false);
    expect(await store.delete("t1", id)).toBe(true);
    expect(await store.delete("t1", id)).toBe(false);
    const left = await db.withSystem("count", (tx) =>
      tx.selectFrom("blob_chunk").select("ordinal").where("blob_id", "=", id).execute(),
    );
    expect(left).toEqual([]);
  });

  test("removed while it is read ends the reading with NOT_FOUND", async () => {
    const { id } = await store.put("t1", randomBytes(600 * kilobyte));
    const reading = store.read("t1", id)[Symbol.asyncIterator]();
    await reading.next();
    await store.delete("t1", id);
    await expect(reading.next()).rejects.toMatchObject({ code: "NOT_FOUND" });
  });
});

test("a row and its body are committed together or not at all", async () => {
  const write = (id: string, fail: boolean) =>
    db.withTenant("t1", async (tx) => {
      const blob = await store.putIn(tx, "t1", randomBytes(10), { contentType: `kind/${id}` });
      await tx.insertInto("book").values({ tenant_id: "t1", id, blob_id: blob.id }).execute();
      if (fail) throw new Error("changed my mind");
    });
  await write("kept", false);
  await expect(write("lost", true)).rejects.toThrow("changed my mind");
  const bodies = await db.withSystem("count", (tx) =>
    tx.selectFrom("blob").select("content_type").where("content_type", "like", "kind/%").execute(),
  );
  expect(bodies).toEqual([{ content_type: "kind/kept" }]);
});
