import { type Bus, createInProcessBus } from "@drover/bus";
import { startGateway } from "@drover/gateway/wiring";
import { startMemory } from "@drover/memory/wiring";
import { startOrchestrator } from "@drover/orchestrator/wiring";
import { startEmbeddedPostgres } from "@drover/postgres";
import { startRag } from "@drover/rag/wiring";
import type { Environment, RunningService } from "@drover/runtime";
import { startSandbox } from "@drover/sandbox/wiring";
import { startTrace } from "@drover/trace/wiring";
import { openDataFolder } from "./data-folder.ts";
import { type SuiteParts, serviceEnvironment } from "./service-environment.ts";
import { type ServiceName, serviceNames } from "./service-names.ts";

type Start = (environment: Environment, shared: { readonly bus: Bus }) => Promise<RunningService>;

const starts: Readonly<Record<ServiceName, Start>> = {
  sandbox: startSandbox,
  rag: startRag,
  memory: startMemory,
  trace: startTrace,
  orchestrator: startOrchestrator,
  gateway: startGateway,
};

/**
 * One database session serves all, so large pools gain nothing; and the data folder's lock makes this
 * the only instance, so what a killed one left is known as its own at once.
 */
const embeddedDefaults = { DATABASE_POOL_MAX: "4", DROVER_SANDBOX_INSTANCE: "embedded" };

/** A suite that serves; disposing of it drains the services in reverse order. */
export interface RunningSuite extends AsyncDisposable {
  /** Base URL of the gateway, e.g. `http://localhost:7700`. */
  readonly url: string;
  readonly addresses: Readonly<Record<ServiceName, string>>;
  /** Where the first API key was written. */
  readonly keyFile: string;
}

/**
 * Starts the six services in this process, each on a port of its own with real gRPC between them, on
 * an embedded Postgres and an in-process bus. Only the gateway's port is chosen (`gatewayListen`).
 * Rejects, with everything given back, when one of them cannot start.
 */
export async function startEmbeddedSuite(options: {
  readonly dataFolder: string;
  readonly environment: Environment;
  readonly gatewayListen: string;
}): Promise<RunningSuite> {
  await using started = new AsyncDisposableStack();
  const folder = await openDataFolder(options.dataFolder);
  const postgres = started.use(await startEmbeddedPostgres({ dataDir: folder.database }));
  const bus = started.use(createInProcessBus());
  const parts: SuiteParts = {
    environment: { ...embeddedDefaults, ...options.environment },
    databaseUrl: postgres.url,
    keys: folder.keys,
    keyFile: folder.keyFile,
  };
  const addresses: Partial<Record<ServiceName, string>> = {};
  for (const name of serviceNames) {
    const listen = { rpc: name === "gateway" ? options.gatewayListen : "127.0.0.1:0", admin: "127.0.0.1:0" };
    const service = started.use(await starts[name](serviceEnvironment(name, parts, listen, addresses), { bus }));
    addresses[name] = service.address;
  }
  const owned = started.move();
  return {
    url: `http://${urlHost(addresses.gateway ?? options.gatewayListen)}`,
    addresses: addresses as Record<ServiceName, string>,
    keyFile: folder.keyFile,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Where the gateway listens: `DROVER_LISTEN`, or the loopback's port 7700. */
export function gatewayListenOf(environment: Environment): string {
  return environment.DROVER_LISTEN || "127.0.0.1:7700";
}

/** A host:port that a browser can open, for one that a server listens on. */
function urlHost(address: string): string {
  return address.replace(/^(127\.0\.0\.1|0\.0\.0\.0|\[::\])(?=:)/, "localhost");
}
