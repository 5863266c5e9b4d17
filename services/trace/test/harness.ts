import { fileURLToPath } from "node:url";
import { type Client, createClient } from "@connectrpc/connect";
import { type Bus, connectNats } from "@drover/bus";
import { ErasureService } from "@drover/proto/common/v1/erasure_service";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import {
  actingAs,
  createIdentityMinter,
  createRpcTransport,
  generateIdentityKeys,
  type RpcTransport,
} from "@drover/rpc";
import { freshDatabase, startNats } from "@drover/testkit";
import { startTrace } from "../src/wiring.ts";

/** The service as it runs in production, with a client and a bus of the test's own. */
export interface Harness extends AsyncDisposable {
  readonly databaseUrl: string;
  readonly client: Client<typeof TraceService>;
  readonly erasure: Client<typeof ErasureService>;
  readonly bus: Bus;
  /** Options of a call on behalf of a tenant. */
  as(tenant: string, signal?: AbortSignal): { contextValues: ReturnType<typeof actingAs>; signal?: AbortSignal };
  /** Stops the service's process part, not what it stands on; `start` brings a new one. */
  stop(): Promise<void>;
  start(): Promise<void>;
}

const directory = fileURLToPath(new URL("../migrations", import.meta.url));

export async function startHarness(overrides: Readonly<Record<string, string>> = {}): Promise<Harness> {
  const stack = new AsyncDisposableStack();
  const database = stack.use(await freshDatabase({ service: "trace", directory }));
  const nats = stack.use(await startNats());
  const keys = await generateIdentityKeys();
  const environment = {
    DROVER_LISTEN: "127.0.0.1:0",
    DROVER_ADMIN_LISTEN: "127.0.0.1:0",
    DROVER_LOG_LEVEL: "warn",
    DATABASE_URL: database.url,
    NATS_URL: nats.url,
    DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
    DROVER_SHUTDOWN_GRACE_MS: "1000",
    ...overrides,
  };
  let service = await startTrace(environment);
  stack.defer(() => service[Symbol.asyncDispose]());
  const bus = stack.use(await connectNats({ url: nats.url, name: "trace-test" }));
  const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
  let transport: RpcTransport = createRpcTransport({ addresses: [service.address], audience: "trace", minter });
  stack.defer(() => transport[Symbol.asyncDispose]());
  return {
    databaseUrl: database.url,
    get client() {
      return createClient(TraceService, transport);
    },
    get erasure() {
      return createClient(ErasureService, transport);
    },
    bus,
    as: (tenant, signal) => ({
      contextValues: actingAs({ tenant, subject: "tester", scopes: ["traces:read", "privacy:write"] }),
      ...(signal === undefined ? {} : { signal }),
    }),
    stop: async () => await service[Symbol.asyncDispose](),
    async start() {
      service = await startTrace(environment);
      await transport[Symbol.asyncDispose]();
      transport = createRpcTransport({ addresses: [service.address], audience: "trace", minter });
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
