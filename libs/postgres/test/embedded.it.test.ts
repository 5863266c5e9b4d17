import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import type { Socket } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type EmbeddedPostgres, openDatabase, startEmbeddedPostgres } from "../src/index.ts";
import { databaseContract } from "./database.contract.ts";

let folder: string;
const makeFolder = async () => {
  folder = await mkdtemp(path.join(tmpdir(), "drover-embedded-"));
};
const removeFolder = () => rm(folder, { recursive: true, force: true });

describe("on the embedded database", () => {
  let server: EmbeddedPostgres | undefined;
  beforeAll(async () => {
    await makeFolder();
    server = await startEmbeddedPostgres({ dataDir: folder });
  });
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]();
    await removeFolder();
  });
  databaseContract(() => String(server?.url));

  test("a client that dies in a transaction is rolled back and stops nobody", async () => {
    const dying = new pg.Client({ connectionString: server?.url });
    dying.on("error", () => {});
    await dying.connect();
    await dying.query("BEGIN");
    await dying.query("CREATE TABLE public.unfinished (id integer)");
    // The client's types hide the socket that a dying process would drop.
    const socket = (dying as unknown as { connection: { stream: Socket } }).connection.stream;
    socket.destroy();
    const next = new pg.Client({ connectionString: server?.url });
    await next.connect();
    const { rows } = await next.query("SELECT to_regclass('public.unfinished') AS table");
    await next.end();
    expect(rows).toEqual([{ table: null }]);
  });

  test("a client connects at once while another one is in a transaction, and waits with its first statement", async () => {
    const busy = new pg.Client({ connectionString: server?.url });
    const next = new pg.Client({ connectionString: server?.url, connectionTimeoutMillis: 2_000 });
    await busy.connect();
    await busy.query("BEGIN");
    await next.connect();
    const order: string[] = [];
    const waiting = next.query("SELECT 1").then(() => order.push("next"));
    await busy.query("SELECT 1").then(() => order.push("busy"));
    await busy.query("COMMIT");
    await waiting;
    expect(order).toEqual(["busy", "next"]);
    await Promise.all([busy.end(), next.end()]);
  });

  test("a client without the password is refused", async () => {
    const url = new URL(String(server?.url));
    url.password = "guess";
    const client = new pg.Client({ connectionString: url.href });
    await expect(client.connect()).rejects.toThrow(/password authentication failed/);
  });
});

/** Starts the database in a process of its own, which writes one row when it is up and then stays. */
async function startElsewhere(dataDir: string) {
  const script = path.join(import.meta.dirname, "fixtures", "embedded-owner.ts");
  const child = spawn(process.execPath, [script, dataDir], { stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) if (line === "written") break;
  return child;
}

describe("a data folder", () => {
  beforeEach(makeFolder);
  afterEach(removeFolder);

  test("has one owner; what the owner wrote survives its kill -9, after which the folder is free", async () => {
    const child = await startElsewhere(folder);
    const gone = new Promise((resolve) => child.once("exit", resolve));
    try {
      const second = startEmbeddedPostgres({ dataDir: folder });
      await expect(second).rejects.toMatchObject({
        code: "FAILED_PRECONDITION",
        message: expect.stringContaining(`in use by process ${child.pid}`),
      });
    } finally {
      child.kill("SIGKILL");
      await gone;
    }
    await using server = await startEmbeddedPostgres({ dataDir: folder });
    await using db = openDatabase<{ animal: { tenant_id: string; id: string } }>({ url: server.url, service: "herd" });
    const rows = await db.withTenant("t1", (tx) => tx.selectFrom("animal").select("id").execute());
    expect(rows).toEqual([{ id: "survivor" }]);
  });

  test("can be opened again in the same process once it was closed, not before", async () => {
    const first = await startEmbeddedPostgres({ dataDir: folder });
    await expect(startEmbeddedPostgres({ dataDir: folder })).rejects.toMatchObject({ reason: "DATA_FOLDER_IN_USE" });
    await first[Symbol.asyncDispose]();
    const second = await startEmbeddedPostgres({ dataDir: folder });
    await second[Symbol.asyncDispose]();
  });
});
