import { spawnSync } from "node:child_process";
import path from "node:path";
import pg from "pg";
import { getContainerRuntimeClient } from "testcontainers";
import { expect, inject, test } from "vitest";
import { freshDatabase, startNats } from "../src/index.ts";

const herd = {
  service: "herd",
  directory: path.join(import.meta.dirname, "..", "..", "postgres", "test", "fixtures", "herd"),
};

async function query<T extends object>(url: string, text: string): Promise<T[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end();
  }
}

test("fresh databases are migrated, share nothing and are dropped", async () => {
  const [first, second] = await Promise.all([freshDatabase(herd), freshDatabase(herd)]);
  await query(first.url, "INSERT INTO herd.animal (tenant_id, id) VALUES ('t', 'a')");
  expect(await query(second.url, "SELECT id FROM herd.animal")).toEqual([]);
  await Promise.all([first[Symbol.asyncDispose](), second[Symbol.asyncDispose]()]);
  const names = [first.url, second.url].map((url) => `'${new URL(url).pathname.slice(1)}'`).join(", ");
  const left = await query(inject("postgresUrl"), `SELECT 1 FROM pg_database WHERE datname IN (${names})`);
  expect(left).toEqual([]);
});

test("containers publish their ports on the loopback alone", async () => {
  const { dockerode } = (await getContainerRuntimeClient()).container;
  await using nats = await startNats();
  const ports = [nats.url, inject("postgresUrl")].map((url) => Number(new URL(url).port));
  const found = (await dockerode.listContainers()).flatMap(({ Ports }) => Ports);
  for (const port of ports) {
    expect(found.filter(({ PublicPort }) => PublicPort === port).map(({ IP }) => IP)).toEqual(["127.0.0.1"]);
  }
});

test("a container whose owner was killed is removed by the next start, one with an owner is not", async () => {
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const dead = spawnSync(process.execPath, ["--version"]).pid;
  const create = (owner: number) =>
    dockerode.createContainer({ Image: "drover/nats:2", Labels: { "drover.testkit.owner": String(owner) } });
  const [orphan, owned] = await Promise.all([create(dead), create(process.pid)]);
  try {
    await using _next = await startNats();
    await expect(orphan.inspect()).rejects.toMatchObject({ statusCode: 404 });
    expect((await owned.inspect()).Id).toBe(owned.id);
  } finally {
    await Promise.allSettled([orphan.remove({ force: true }), owned.remove({ force: true })]);
  }
});
