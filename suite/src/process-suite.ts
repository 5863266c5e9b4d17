import type { ChildProcess } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Environment } from "@drover/runtime";
import { openDataFolder } from "./data-folder.ts";
import { freePorts } from "./free-ports.ts";
import { type SuiteParts, serviceEnvironment } from "./service-environment.ts";
import { type ServiceName, serviceNames } from "./service-names.ts";
import { endProcess, spawnService, untilReady } from "./service-process.ts";

const startTimeoutMs = 60_000;
const endGraceMs = 25_000;

/** Six services as six processes, children of this one. */
export interface ProcessSuite extends AsyncDisposable {
  readonly url: string;
  readonly addresses: Readonly<Record<ServiceName, string>>;
  readonly keyFile: string;
  /** Ends one service with a signal and waits for its end. */
  kill(name: ServiceName, signal: NodeJS.Signals): Promise<void>;
  /** Starts one service again under its old address and waits until it is ready. */
  start(name: ServiceName): Promise<void>;
  /** The process of a service, for signals that do not end it. */
  pid(name: ServiceName): number | undefined;
}

/**
 * Starts the six services as child processes on free loopback ports, against a Postgres and a NATS
 * that run already. Logs go to `dataFolder/logs`. Rejects, with everything ended, when one cannot
 * start.
 */
export async function startProcessSuite(options: {
  readonly dataFolder: string;
  readonly environment: Environment;
  readonly databaseUrl: string;
  readonly natsUrl: string;
}): Promise<ProcessSuite> {
  const folder = await openDataFolder(options.dataFolder);
  const logs = join(folder.path, "logs");
  mkdirSync(logs, { recursive: true });
  const parts: SuiteParts = { ...options, keys: folder.keys, keyFile: folder.keyFile };
  const ports = await freePorts(serviceNames.length * 2);
  const rpc = Object.fromEntries(serviceNames.map((name, i) => [name, `127.0.0.1:${ports[i]}`]));
  const admin = Object.fromEntries(
    serviceNames.map((name, i) => [name, `127.0.0.1:${ports[serviceNames.length + i]}`]),
  );
  const addresses = rpc as Record<ServiceName, string>;
  const children = new Map<ServiceName, ChildProcess>();

  const start = async (name: ServiceName) => {
    const adminAddress = admin[name] as string;
    const logFile = join(logs, `${name}.log`);
    const environment = serviceEnvironment(name, parts, { rpc: addresses[name], admin: adminAddress }, addresses);
    const child = spawnService(name, environment, { logFile, detached: false });
    children.set(name, child);
    const isAlive = () => child.exitCode === null && child.signalCode === null;
    await untilReady(name, adminAddress, { timeoutMs: startTimeoutMs, logFile, isAlive });
  };
  const endAll = async () => {
    await Promise.all([...children.values()].map((child) => endProcess(child, endGraceMs)));
  };
  try {
    await Promise.all(serviceNames.map(start));
  } catch (error) {
    await endAll();
    throw error;
  }
  return {
    url: `http://${addresses.gateway.replace("127.0.0.1", "localhost")}`,
    addresses,
    keyFile: folder.keyFile,
    start,
    pid: (name) => children.get(name)?.pid,
    async kill(name, signal) {
      const child = children.get(name);
      if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill(signal);
      await ended;
    },
    [Symbol.asyncDispose]: endAll,
  };
}
