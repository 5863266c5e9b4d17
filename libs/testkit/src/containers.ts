import { createServer } from "node:net";
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer, Wait } from "testcontainers";

const ownerLabel = "drover.testkit.owner";
const loopback = "127.0.0.1";

/** A container whose ports can be reached from this host alone; by itself the library publishes on every interface. */
class LoopbackContainer extends GenericContainer {
  withPublishedPort(container: number, host: number): this {
    this.withExposedPorts({ container, host });
    const binding = [{ HostIp: loopback, HostPort: String(host) }];
    this.hostConfig.PortBindings = { ...this.hostConfig.PortBindings, [`${container}/tcp`]: binding };
    return this;
  }
}

/** A PostgreSQL server in a container; disposing removes it. */
export interface StartedPostgres extends AsyncDisposable {
  /** Superuser's address of the database `postgres`. */
  readonly url: string;
  /** Stops the server; address and data stay. */
  stop(): Promise<void>;
  /** Starts it again; resolves when its process runs, which is before it answers. */
  start(): Promise<void>;
}

/** A NATS server with JetStream in a container; disposing removes it. */
export interface StartedNats extends AsyncDisposable {
  readonly url: string;
  /** Stops the server; address and data stay. */
  stop(): Promise<void>;
  /** Starts it again; resolves when its process runs, which is before it answers. */
  start(): Promise<void>;
  /** Restarts it with an empty store, as after the loss of its disk. */
  wipe(): Promise<void>;
}

const fast = "-c fsync=off -c full_page_writes=off -c synchronous_commit=off";
/** As shipped (fsync and synchronous_commit are on), with no checkpoint within a measurement. */
const durable = "-c checkpoint_timeout=1h -c max_wal_size=16GB";

/**
 * Starts the local Postgres image; without fsync, unless it is to be `durable`, as figures need it. Rejects where
 * Docker or the image is missing and says what to run.
 */
export async function startPostgres(options: { readonly durable?: boolean } = {}): Promise<StartedPostgres> {
  const port = await freePort();
  const container = new LoopbackContainer("drover/postgres:17")
    .withPublishedPort(5432, port)
    .withEnvironment({ POSTGRES_PASSWORD: "drover" })
    .withCommand(`-c max_connections=400 ${options.durable ? durable : fast}`.split(" "))
    .withWaitStrategy(Wait.forLogMessage("database system is ready to accept connections"));
  const started = await start(container);
  return {
    url: `postgres://postgres:drover@${loopback}:${port}/postgres`,
    ...(await lifeOf(started)),
  };
}

/** Starts the local NATS image. Rejects where Docker or the image is missing and says what to run. */
export async function startNats(): Promise<StartedNats> {
  const port = await freePort();
  const container = new LoopbackContainer("drover/nats:2")
    .withPublishedPort(4222, port)
    .withWaitStrategy(Wait.forLogMessage("Server is ready"));
  const started = await start(container);
  const life = await lifeOf(started);
  return {
    url: `nats://${loopback}:${port}`,
    ...life,
    async wipe() {
      await started.exec(["rm", "-rf", "/var/lib/nats/jetstream/jetstream"]);
      await life.stop();
      await life.start();
    },
  };
}

async function start(container: GenericContainer): Promise<StartedTestContainer> {
  // The reaper is an image of its own, which a machine without a registry does not have; see removeOrphans.
  process.env.TESTCONTAINERS_RYUK_DISABLED = "true";
  try {
    await removeOrphans();
    return await container
      .withAutoRemove(false)
      .withLabels({ [ownerLabel]: String(process.pid) })
      .start();
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

async function lifeOf(started: StartedTestContainer) {
  const container = (await getContainerRuntimeClient()).container.getById(started.getId());
  return {
    stop: async () => void (await container.stop({ t: 5 })),
    start: async () => void (await container.start()),
    [Symbol.asyncDispose]: async () => void (await container.remove({ force: true, v: true })),
  };
}

/** A port that was free a moment ago; a fixed one lets a restarted container keep its address. */
async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, loopback, resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("The operating system gave no port.");
  return address.port;
}
