import type { Bus } from "@drover/bus";
import { systemClock as clock } from "@drover/kernel";
import { createIdentityVerifier, startRpcServer } from "@drover/rpc";
import { createLogger, createMetrics, type Environment, type RunningService, startAdminServer } from "@drover/runtime";
import { createTracer } from "@drover/tracing";
import { listenForCancels } from "./api/cancel-listener.ts";
import { hostSandbox } from "./api/routes.ts";
import { Admission } from "./application/admission.ts";
import { CancelTask } from "./application/cancel-task.ts";
import { ChangeCollector } from "./application/change-collector.ts";
import { LiveRuns } from "./application/live-runs.ts";
import { openExec } from "./application/open-exec.ts";
import { openPool } from "./application/open-pool.ts";
import { SearchFiles } from "./application/search-files.ts";
import { SessionOwners } from "./application/session-owner.ts";
import { startReaping } from "./application/start-reaping.ts";
import { Workspaces } from "./application/workspaces.ts";
import {
  admissionLimitsOf,
  confinementOf,
  instanceOf,
  languagesOf,
  limitPolicyOf,
  readConfig,
  runSettingsOf,
  sessionsOf,
  workspaceLimitsOf,
} from "./config.ts";
import { imageOf } from "./domain/language.ts";
import { linearPattern } from "./infrastructure/linear-pattern.ts";
import { openBus } from "./infrastructure/open-bus.ts";
import { openPeers } from "./infrastructure/peers.ts";
import { policyVersion } from "./infrastructure/policy-version.ts";
import { poolMetrics } from "./infrastructure/pool-metrics.ts";
import { runMetrics } from "./infrastructure/run-metrics.ts";
import { sha256 as digest } from "./infrastructure/sha256.ts";
import { openStores } from "./infrastructure/store/open-stores.ts";
import { openBackend } from "./open-backend.ts";

const service = "sandbox";

/** What the embedded profile gives to all services of its process. */
export interface SharedParts {
  readonly bus?: Bus;
}

/** Starts the sandbox service. It starts and lives without a Docker daemon; runs are then UNAVAILABLE. */
export async function startSandbox(environment: Environment, shared: SharedParts = {}): Promise<RunningService> {
  const config = readConfig(environment);
  const { DATABASE_URL: url, DATABASE_POOL_MAX: poolMax, DROVER_SHUTDOWN_GRACE_MS: graceMs } = config;
  const logger = createLogger({ service, level: config.DROVER_LOG_LEVEL });
  const metrics = createMetrics(service);
  await using started = new AsyncDisposableStack();
  const bound = Promise.withResolvers<string>();
  const instance = instanceOf(config, bound.promise);
  const { DROVER_SANDBOX_IMAGE_PREFIX: imagePrefix, DROVER_SANDBOX_RETENTION_DAYS: days } = config;
  const stores = started.use(await openStores({ url, poolMax, logger }, instance, days));
  const { database, executions, workspaces, ledger, eraser } = stores;
  const bus = shared.bus ?? started.use(await openBus(config.NATS_URL, service, logger));
  const tracer = started.use(createTracer({ service, bus, logger }));
  const languages = languagesOf(config);
  const images = new Map(languages.map((language) => [language.name, imageOf(language, imagePrefix)]));
  const { owner } = instance;
  const policy = limitPolicyOf(config);
  const guarded = started.use(openBackend(config, { owner, images, limits: policy.defaults, clock, log: logger }));
  const admission = new Admission(admissionLimitsOf(config), clock);
  const pool = { owner, images, policy, admission, clock, log: logger, metrics: poolMetrics(metrics) };
  const engine = started.use(openPool(config, guarded, pool));
  const live = new LiveRuns();
  const owners = new SessionOwners(stores.owners, () => ledger.loseOrphans(), logger);
  const space = workspaceLimitsOf(config);
  const setup = {
    engine,
    executions,
    workspaces,
    live,
    owners,
    clock,
    tracer,
    digest,
    log: logger,
    metrics: runMetrics(metrics),
    collector: new ChangeCollector(workspaces, executions, space, clock, logger),
    admission,
    policy,
    languages,
    settings: runSettingsOf(config, policyVersion(policy, languages, confinementOf(config))),
  };
  const exec = started.use(openExec({ ...setup, space, sessions: sessionsOf(config), compile: linearPattern }));
  const files = new Workspaces(workspaces, space, digest);
  const search = new SearchFiles(workspaces, linearPattern);
  const peers = started.use(openPeers(config.DROVER_MAX_MESSAGE_BYTES));

  started.use(startReaping(config.DROVER_SANDBOX_REAP_MS, engine, ledger, owners, live, clock, logger));
  started.use(listenForCancels(bus, new CancelTask(live, executions, logger), logger));
  const server = started.use(
    await startRpcServer({
      service,
      listen: config.DROVER_LISTEN,
      limits: { maxMessageBytes: config.DROVER_MAX_MESSAGE_BYTES },
      identity: createIdentityVerifier({ publicKeys: config.DROVER_IDENTITY_PUBLIC_KEYS, audience: service }),
      logger,
      metrics,
      graceMs,
      routes: (router) => hostSandbox(router, { exec, files, search, eraser, owners, peers, live }),
    }),
  );
  bound.resolve(server.address);
  const isolation = () => guarded.reached;
  const ready = { postgres: (signal: AbortSignal) => database.ping(signal), bus: () => bus.healthy(), isolation };
  const admin = started.use(await startAdminServer({ listen: config.DROVER_ADMIN_LISTEN, metrics, logger, ready }));
  server.setServing(true);
  started.defer(() => {
    server.setServing(false);
    return live.drain(graceMs / 2, clock);
  });
  const parts = started.move();
  const dispose = () => parts.disposeAsync();
  return { name: service, address: server.address, adminAddress: admin.address, [Symbol.asyncDispose]: dispose };
}
