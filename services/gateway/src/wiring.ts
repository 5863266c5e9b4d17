import { randomBytes } from "node:crypto";
import { resolve } from "node:path";
import { systemClock } from "@drover/kernel";
import { migrate, openDatabase } from "@drover/postgres";
import { createIdentityMinter, createRpcTransport, type IdentityMinter } from "@drover/rpc";
import {
  createLogger,
  createMetrics,
  type Environment,
  type Logger,
  type RunningService,
  startAdminServer,
} from "@drover/runtime";
import { knownScopes, type Target, targets } from "./api/admission.ts";
import { createCredentials } from "./api/credentials.ts";
import { openEdge } from "./api/edge.ts";
import { createAuthenticator } from "./application/authenticate.ts";
import { ensureFirstKey } from "./application/first-key.ts";
import { createSessions } from "./application/sessions.ts";
import { edgeSettings, type GatewayConfig, readConfig } from "./config.ts";
import { firstKeyDelivery } from "./infrastructure/first-key-delivery.ts";
import { createKeyTable, systemJobs } from "./infrastructure/key-table.ts";
import { createKeyVault } from "./infrastructure/key-vault.ts";
import type { GatewaySchema } from "./infrastructure/schema.ts";
import { createTextSigner } from "./infrastructure/text-signer.ts";
import { createUpstream } from "./infrastructure/upstream.ts";
import { viewerDirectory } from "./infrastructure/viewer-directory.ts";

/** Starts the gateway: schema, first key, then the port. Disposing drains it within the configured grace. */
export async function startGateway(environment: Environment): Promise<RunningService> {
  const config = readConfig(environment);
  const logger = createLogger({ service: "gateway", level: config.DROVER_LOG_LEVEL });
  const metrics = createMetrics("gateway");
  const url = config.DATABASE_URL;
  await migrate({ url, service: "gateway", directory: resolve(import.meta.dirname, "../migrations") });

  await using started = new AsyncDisposableStack();
  const db = started.use(
    openDatabase<GatewaySchema>({ url, service: "gateway", poolMax: config.DATABASE_POOL_MAX, systemJobs, logger }),
  );
  const keys = createKeyTable(db);
  const vault = createKeyVault(config.DROVER_KEY_PEPPER);
  const first = await ensureFirstKey(keys, vault, {
    bootstrap: config.DROVER_BOOTSTRAP_KEY,
    deliver: firstKeyDelivery(config.DROVER_FIRST_KEY_FILE),
  });
  logger.info({ outcome: first, file: config.DROVER_FIRST_KEY_FILE }, "first api key");
  const authenticator = createAuthenticator({
    keys,
    vault,
    clock: systemClock,
    scopes: knownScopes,
    cacheMs: config.DROVER_KEY_CACHE_MS,
    staleMs: config.DROVER_KEY_STALE_MS,
    onTouchFailed: (error) => logger.warn({ err: error }, "the use of a key was not recorded"),
  });
  const signer = createTextSigner(await keys.sessionSecret(randomBytes(32)));
  const sessions = createSessions({ authenticator, signer, clock: systemClock, ttlMs: config.DROVER_SESSION_TTL_MS });
  const minter = createIdentityMinter({ privateKey: config.DROVER_IDENTITY_PRIVATE_KEY, issuer: "gateway" });

  const peers = connectPeers(config, minter, started, logger);
  const edge = started.use(
    await openEdge({
      ...edgeSettings(config),
      ...peers,
      credentials: createCredentials(authenticator, sessions, config.DROVER_ALLOWED_ORIGINS),
      sessions,
      minter,
      viewerFiles: viewerDirectory(config.DROVER_VIEWER_DIR),
      logger,
      metrics,
    }),
  );
  const ready = { postgres: (signal: AbortSignal) => db.ping(signal) };
  const admin = started.use(await startAdminServer({ listen: config.DROVER_ADMIN_LISTEN, metrics, ready, logger }));
  const owned = started.move();
  return {
    name: "gateway",
    address: edge.address,
    adminAddress: admin.address,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function connectPeers(config: GatewayConfig, minter: IdentityMinter, started: AsyncDisposableStack, logger: Logger) {
  const addresses: Record<Target, readonly string[]> = {
    orchestrator: config.ORCHESTRATOR_ADDRESS,
    sandbox: config.SANDBOX_ADDRESS,
    rag: config.RAG_ADDRESS,
    memory: config.MEMORY_ADDRESS,
    trace: config.TRACE_ADDRESS,
  };
  const limits = { maxMessageBytes: config.DROVER_MAX_MESSAGE_BYTES, maxUnaryMs: config.DROVER_MAX_UNARY_MS };
  const unreachable = (service: Target) => (address: string, error: unknown) =>
    logger.warn({ err: error, peer: service, address }, "a service cannot be reached");
  const each = <T>(make: (target: Target) => T) =>
    Object.fromEntries(targets.map((target) => [target, make(target)])) as Record<Target, T>;
  return {
    upstreams: each((service) =>
      started.use(createUpstream({ service, addresses: addresses[service], onFailure: unreachable(service) })),
    ),
    transports: each((audience) =>
      started.use(createRpcTransport({ addresses: addresses[audience], audience, minter, limits })),
    ),
  };
}
