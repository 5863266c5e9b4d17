import { createServer } from "node:net";
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from "testcontainers";

const ownerLabel = "drover.testkit.owner";

/** A PostgreSQL server in a container; disposing removes it. */
export interface StartedPostgres extends AsyncDisposable {
  /** Superuser's address of the database `postgres`. */
  readonly url: string;
  /** Stops and starts the server again under the same address, without its data. */
  restart(): Promise<void>;
}

/** A NATS server with JetStream in a container; disposing removes it. */
export interface StartedNats extends AsyncDisposable {
  readonly url: string;
  /** Stops the server; the address stays reserved. */
  stop(): Promise<void>;
  /** Starts it again under the same address; its streams are gone. */
  start(): Promise<void>;
}

/**
 * Starts the local Postgres image with its data in memory and without fsync: for tests, not for figures. Rejects where
 * Docker or the image is missing and says what to run.
 */
export async function startPostgres(): Promise<StartedPostgres> {
  const port = await freePort();
  const container = new GenericContainer("drover/postgres:17")
    .withEnvironment({ POSTGRES_PASSWORD: "drover", PGDATA: "/var/lib/postgresql/data/cluster" })
    .withTmpFs({ "/var/lib/postgresql/data": "rw,mode=1777" })
    .withExposedPorts({ container: 5432, host: port })
    .withCommand("-c fsync=off -c full_page_writes=off -c synchronous_commit=off -c max_connections=400".split(" "))
    .withWaitStrategy(Wait.forLogMessage("database system is ready to accept connections"));
  const started = await start(container);
  return {
    url: `postgres://postgres:drover@${started.getHost()}:${port}/postgres`,
    restart: () => started.restart({ timeout: 10 }),
    [Symbol.asyncDispose]: () => remove(started),
  };
}

/** Starts the local NATS image. Rejects where Docker or the image is missing and says what to run. */
export async function startNats(): Promise<StartedNats> {
  const port = await freePort();
  const container = new GenericContainer("drover/nats:2")
    .withTmpFs({ "/var/lib/nats/jetstream": "rw,mode=1777" })
    .withExposedPorts({ container: 4222, host: port })
    .withWaitStrategy(Wait.forLogMessage("Server is ready"));
  const started = await start(container);
  const client = await getContainerRuntimeClient();
  const engine = client.container.getById(started.getId());
  return {
    url: `nats://${started.getHost()}:${port}`,
    stop: () => engine.stop({ t: 5 }).then(() => {}),
    start: () => engine.start().then(() => {}),
    [Symbol.asyncDispose]: () => remove(started),
  };
}

async function start(container: GenericContainer): Promise<StartedTestContainer> {
  // The reaper is an image of its own, which a machine without a registry does not have; see removeOrphans.
  process.env.TESTCONTAINERS_RYUK_DISABLED = "true";
  try {
    await removeOrphans();
    return await container.withLabels({ [ownerLabel]: String(process.pid) }).start();
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error);
    throw new Error(`Tests need Docker and the local images; run \`make images\`. (${said})`, { cause: error });
  }
}

/** Removes what a killed test run left: containers whose owner lives no more. */
async function removeOrphans(): Promise<void> {
  const { dockerode } = (await getContainerRuntimeClient()).container;
  const found = await dockerode.listContainers({ all: true, filters: { label: [ownerLabel] } });
  const orphans = found.filter((container) => !isAlive(Number(container.Labels[ownerLabel])));
  // Another run may be removing the same one.
  await Promise.allSettled(orphans.map(({ Id }) => dockerode.getContainer(Id).remove({ force: true, v: true })));
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function remove(container: StartedTestContainer): Promise<void> {
  await container.stop({ timeout: 0, remove: true, removeVolumes: true });
}

/** A port that was free a moment ago; a fixed one lets a restarted container keep its address. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("The operating system gave no port.");
  return address.port;
}
