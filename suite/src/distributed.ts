import { execFileSync, spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Environment } from "@drover/runtime";
import { type DataFolder, openDataFolder } from "./data-folder.ts";
import { SuiteFailure } from "./failure.ts";
import { assertPortsFree } from "./free-ports.ts";
import { hasModelEndpoint } from "./model-choice.ts";
import { serviceEnvironment } from "./service-environment.ts";
import { defaultPorts, type ServiceName, serviceNames } from "./service-names.ts";
import { spawnProcess, spawnService, untilReady } from "./service-process.ts";

const modelPort = 7790;
const postgresPort = 7732;
const natsPort = 7742;
const startTimeoutMs = 60_000;

/** What `make up` started, as it stands in the data folder for `make down`. */
interface UpRecord {
  readonly password: string;
  /** Container ids by name. */
  readonly containers: Record<string, string>;
  readonly processes: Partial<Record<ServiceName | "model", number>>;
}

/** True when `up` was called on this folder and `down` was not. */
export async function isUp(dataFolder: string): Promise<boolean> {
  return readRecord(await openDataFolder(dataFolder)) !== undefined;
}

/**
 * Starts what is missing of the distributed profile: Postgres and NATS in containers, six services as
 * processes on their default ports that outlive this one, and the scripted model where the
 * environment names no endpoint. Calling it again starts again what has ended. Returns the gateway's URL.
 */
export async function up(
  dataFolder: string,
  given: Environment,
  say: (line: string) => void,
): Promise<{ readonly url: string; readonly keyFile: string }> {
  const folder = await openDataFolder(dataFolder);
  const record = readRecord(folder) ?? { password: randomBytes(16).toString("hex"), containers: {}, processes: {} };
  const environment = withModel(given);
  const missing = serviceNames.filter((name) => !isAlive(record.processes[name]));
  // An instance of somebody else would answer in place of one that could not start.
  await assertPortsFree([
    ...missing.flatMap((name) => [defaultPorts[name], defaultPorts[name] + 100]),
    ...(isRunning(record.containers.postgres) ? [] : [postgresPort]),
    ...(isRunning(record.containers.nats) ? [] : [natsPort]),
    ...(environment === given || isAlive(record.processes.model) ? [] : [modelPort]),
  ]);
  const containers = { ...record.containers };
  for (const [name, run] of Object.entries(containerRuns(record.password))) {
    containers[name] = ensureContainer(containers[name], run);
    writeRecord(folder, { ...record, containers });
  }
  say(`Postgres on port ${postgresPort}, NATS on port ${natsPort}`);
  await untilPostgresAnswers(containers.postgres ?? "");

  const processes = { ...record.processes };
  mkdirSync(join(folder.path, "logs"), { recursive: true });
  if (environment !== given && !isAlive(processes.model)) processes.model = spawnModel(folder);
  for (const name of missing) processes[name] = spawnDetached(name, folder, environment, record.password);
  writeRecord(folder, { ...record, containers, processes });
  await Promise.all(
    missing.map((name) =>
      untilReady(name, adminAddress(name), {
        timeoutMs: startTimeoutMs,
        logFile: logFile(folder, name),
        isAlive: () => isAlive(processes[name]),
      }),
    ),
  );
  for (const name of serviceNames) say(`${name.padEnd(12)} port ${defaultPorts[name]}, process ${processes[name]}`);
  return { url: `http://localhost:${defaultPorts.gateway}`, keyFile: folder.keyFile };
}

/** Ends what {@link up} started: the services with SIGTERM, then the containers with their data. */
export async function down(dataFolder: string, say: (line: string) => void): Promise<void> {
  const folder = await openDataFolder(dataFolder);
  const record = readRecord(folder);
  if (record === undefined) return say("Nothing of the distributed profile runs.");
  for (const name of [...serviceNames.toReversed(), "model" as const]) {
    const pid = record.processes[name];
    if (pid !== undefined && (await endDetached(pid))) say(`${name} ended`);
  }
  for (const id of Object.values(record.containers)) docker("rm", "--force", "--volumes", id);
  rmSync(recordFile(folder));
  rmSync(folder.keyFile, { force: true });
  say("Containers removed");
}

function spawnDetached(name: ServiceName, folder: DataFolder, environment: Environment, password: string): number {
  const addresses = Object.fromEntries(serviceNames.map((each) => [each, `127.0.0.1:${defaultPorts[each]}`]));
  const parts = {
    environment,
    databaseUrl: `postgres://postgres:${password}@127.0.0.1:${postgresPort}/postgres`,
    natsUrl: `nats://127.0.0.1:${natsPort}`,
    keys: folder.keys,
    keyFile: folder.keyFile,
  };
  const listen = { rpc: `127.0.0.1:${defaultPorts[name]}`, admin: adminAddress(name) };
  const child = spawnService(name, serviceEnvironment(name, parts, listen, addresses), {
    logFile: logFile(folder, name),
    detached: true,
  });
  if (child.pid === undefined) throw new Error(`${name} could not be started.`);
  return child.pid;
}

/** The environment, pointed at the scripted model where it names no endpoint. */
function withModel(environment: Environment): Environment {
  if (hasModelEndpoint(environment)) return environment;
  return {
    ...environment,
    DROVER_MODEL: environment.DROVER_MODEL || "scripted-1",
    OPENAI_BASE_URL: `http://127.0.0.1:${modelPort}/v1`,
    OPENAI_API_KEY: "scripted",
  };
}

function spawnModel(folder: DataFolder): number {
  const environment = { PATH: process.env.PATH, PORT: String(modelPort), SCRIPT: "payment-pending" };
  const program = "libs/testkit/src/scripted-model/main.ts";
  const child = spawnProcess(program, environment, { logFile: logFile(folder, "model"), detached: true });
  if (child.pid === undefined) throw new Error("The scripted model could not be started.");
  return child.pid;
}

function adminAddress(name: ServiceName): string {
  return `127.0.0.1:${defaultPorts[name] + 100}`;
}

function logFile(folder: DataFolder, name: ServiceName | "model"): string {
  return join(folder.path, "logs", `${name}.log`);
}

function containerRuns(password: string): Readonly<Record<"postgres" | "nats", readonly string[]>> {
  return {
    postgres: [
      ...["-p", `127.0.0.1:${postgresPort}:5432`, "-e", `POSTGRES_PASSWORD=${password}`, "drover/postgres:17"],
    ],
    nats: ["-p", `127.0.0.1:${natsPort}:4222`, "drover/nats:2"],
  };
}

function isRunning(id: string | undefined): boolean {
  return id !== undefined && docker("ps", "--quiet", "--no-trunc", "--filter", `id=${id}`) !== "";
}

/** A container that cannot be started is removed again. */
function ensureContainer(id: string | undefined, run: readonly string[]): string {
  if (id !== undefined && isRunning(id)) return id;
  const made = docker("create", "--label", "drover.suite=distributed", ...run);
  try {
    docker("start", made);
  } catch (error) {
    docker("rm", "--force", "--volumes", made);
    throw error;
  }
  return made;
}

async function untilPostgresAnswers(id: string): Promise<void> {
  const until = performance.now() + startTimeoutMs;
  for (;;) {
    try {
      docker("exec", id, "pg_isready", "--host=127.0.0.1", "--quiet");
      return;
    } catch (error) {
      if (performance.now() > until) throw new Error("Postgres did not start; see docker logs.", { cause: error });
      await sleep(200);
    }
  }
}

async function endDetached(pid: number): Promise<boolean> {
  if (!isAlive(pid)) return false;
  process.kill(pid, "SIGTERM");
  for (let waited = 0; isAlive(pid); waited += 100) {
    if (waited === 25_000) process.kill(pid, "SIGKILL");
    await sleep(100);
  }
  return true;
}

/** True while the process is one of our services; a reused process id is somebody else's. */
function isAlive(pid: number | undefined): boolean {
  if (pid === undefined) return false;
  try {
    const command = execFileSync("ps", ["-o", "stat=,args=", "-p", String(pid)], { encoding: "utf8" });
    return !command.startsWith("Z") && /\/(services|scripted-model)\//.test(command);
  } catch {
    return false;
  }
}

function docker(...command: readonly string[]): string {
  const { stdout, stderr, status, error } = spawnSync("docker", command, {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
  if (status === 0) return stdout.trim();
  const said = error?.message ?? stderr.trim().split("\n")[0] ?? "";
  throw new SuiteFailure(
    `docker ${command[0]} failed: ${said}`,
    "Check that a Docker daemon answers; `make docker` does so.",
  );
}

function recordFile(folder: DataFolder): string {
  return join(folder.path, "distributed.json");
}

function readRecord(folder: DataFolder): UpRecord | undefined {
  try {
    const record: UpRecord = JSON.parse(readFileSync(recordFile(folder), "utf8"));
    return record;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function writeRecord(folder: DataFolder, record: UpRecord): void {
  writeFileSync(recordFile(folder), JSON.stringify(record, null, 2), { mode: 0o600 });
}
