import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { type FreshDatabase, freshDatabase } from "@drover/testkit";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { migrate } from "../src/index.ts";

const fixtures = path.join(import.meta.dirname, "fixtures");
let database: FreshDatabase;
let admin: pg.Client;
let folder: string;

beforeAll(async () => {
  database = await freshDatabase();
  admin = new pg.Client({ connectionString: database.url });
  await admin.connect();
});
afterAll(async () => {
  await admin.end();
  await database[Symbol.asyncDispose]();
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "drover-migrations-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

test("a file that fails leaves nothing of itself and everything before it", async () => {
  const options = { url: database.url, service: "broken", directory: path.join(fixtures, "broken") };
  await expect(migrate(options)).rejects.toMatchObject({
    code: "FAILED_PRECONDITION",
    message: expect.stringMatching(/broken\/000002_fails\.sql failed: invalid input syntax/),
  });
  const tables = await admin.query("SELECT tablename AS t FROM pg_tables WHERE schemaname = 'broken' ORDER BY 1");
  expect(tables.rows.map((row) => row.t)).toEqual(["fine", "migration"]);
  const record = await admin.query("SELECT version FROM broken.migration");
  expect(record.rows).toEqual([{ version: 1 }]);
});

test("an applied file whose text changed is refused; a new file is applied; then there is nothing to do", async () => {
  await cp(path.join(fixtures, "herd"), folder, { recursive: true });
  const options = { url: database.url, service: "changing", directory: folder };
  await migrate(options);
  const first = path.join(folder, "000001_animals.sql");
  const text = await readFile(first, "utf8");
  await writeFile(first, `${text}-- later thought\n`);
  await expect(migrate(options)).rejects.toMatchObject({ reason: "MIGRATION_CHANGED" });
  await writeFile(first, text);
  await writeFile(path.join(folder, "000003_more.sql"), "CREATE TABLE more (id integer PRIMARY KEY);");
  expect(await migrate(options)).toEqual({ applied: ["changing/000003_more.sql"] });
  expect(await migrate(options)).toEqual({ applied: [] });
});

test("a table with tenants but without forced row-level security is refused, with every fault", async () => {
  const options = { url: database.url, service: "unguarded", directory: path.join(fixtures, "unguarded") };
  await expect(migrate(options)).rejects.toMatchObject({
    reason: "TENANT_UNGUARDED",
    message: expect.stringMatching(/bare needs ENABLE and FORCE.*primary key of bare must begin/s),
  });
});

test.each([
  ["000002_gap.sql", "SELECT 1;", /000001_<name>\.sql was expected/],
  ["1_short.sql", "SELECT 1;", /000001_<name>\.sql was expected/],
  ["000001_own.sql", "CREATE TABLE a (id int);\nCOMMIT;\n", /controls the transaction/],
])("%s is refused before anything is applied", async (name, sql, message) => {
  await writeFile(path.join(folder, name), sql);
  await expect(migrate({ url: database.url, service: "strange", directory: folder })).rejects.toThrow(message);
  expect((await admin.query("SELECT to_regnamespace('strange') AS s")).rows).toEqual([{ s: null }]);
});

test("a login that is no superuser migrates when it may create roles and schemas", async () => {
  const login = `plain_${Date.now()}`;
  const name = new URL(database.url).pathname.slice(1);
  await admin.query(
    `CREATE ROLE ${login} LOGIN PASSWORD 'x' CREATEROLE BYPASSRLS; GRANT CREATE ON DATABASE ${name} TO ${login}`,
  );
  const url = new URL(database.url);
  url.username = login;
  url.password = "x";
  await admin.query("CREATE EXTENSION IF NOT EXISTS vector");
  const { applied } = await migrate({ url: url.href, service: "plain", directory: path.join(fixtures, "herd") });
  expect(applied).toHaveLength(2);
});

test("many starters at once, each file with rights of its own, apply every file once and none fails", async () => {
  const guarded = (n: number) => `CREATE TABLE made_${n} (id integer PRIMARY KEY);
    CREATE FUNCTION make_${n}() RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN RETURN ${n}; END $$;`;
  const names = Array.from({ length: 6 }, (_, n) => `00000${n + 1}_make.sql`);
  await Promise.all(names.map((name, n) => writeFile(path.join(folder, name), guarded(n))));
  for (const service of ["crowd_a", "crowd_b", "crowd_c"]) {
    const starters = Array.from({ length: 16 }, () => migrate({ url: database.url, service, directory: folder }));
    const applied = (await Promise.all(starters)).flatMap((starter) => starter.applied);
    expect(applied.sort()).toEqual(names.map((name) => `${service}/${name}`));
  }
});

test("no database is UNAVAILABLE", async () => {
  const herd = { service: "herd", directory: path.join(fixtures, "herd") };
  const options = { ...herd, url: "postgres://x:y@127.0.0.1:1/x", startWaitMs: 0 };
  await expect(migrate(options)).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

test("a database that is still starting is waited for", async () => {
  const url = new URL(database.url);
  const { hostname: host, port } = url;
  let refused = 0;
  await using server = createServer((socket) => {
    if (refused++ < 2) return void socket.destroy();
    const through = connect(Number(port), host);
    socket.on("error", () => through.destroy()).pipe(through);
    through.on("error", () => socket.destroy()).pipe(socket);
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  url.host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { applied } = await migrate({ url: url.href, service: "later", directory: path.join(fixtures, "herd") });
  expect(applied).toHaveLength(2);
  expect(refused).toBe(3);
});
