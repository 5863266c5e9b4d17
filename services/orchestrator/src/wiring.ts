import { fileURLToPath } from "node:url";
import { connectNats } from "@drover/bus";
import { DroverError, newId, systemClock } from "@drover/kernel";
import { migrate, openDatabase } from "@drover/postgres";
import { AgentService } from "@drover/proto/orchestrator/v1/agent_service";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { createIdentityVerifier, startRpcServer } from "@drover/rpc";
import { createLogger, createMetrics, type Environment, type RunningService, startAdminServer } from "@drover/runtime";
import { createTracer } from "@drover/tracing";
import { agentRpcs } from "./api/agent-rpcs.ts";
import { listenForTasks } from "./api/task-listener.ts";
import { createTaskService } from "./api/task-service.ts";
import { keepHouse } from "./application/keep-house.ts";
import { runTask } from "./application/run-task.ts";
import { TaskHubs } from "./application/task-hub.ts";
import { startWorker } from "./application/worker.ts";
import { houseTimesOf, purgeTimesOf, readConfig, submissionDefaultsOf, workerOptionsOf } from "./config.ts";
import { createBusSignals } from "./infrastructure/bus-signals.ts";
import { afterTaskJobs } from "./infrastructure/postgres-after-tasks.ts";
import { createPostgresAgentStore } from "./infrastructure/postgres-agent-store.ts";
import { approvalJobs } from "./infrastructure/postgres-approval-store.ts";
import { purgeJobs } from "./infrastructure/postgres-purge-store.ts";
import { createPostgresTaskRecords } from "./infrastructure/postgres-task-records.ts";
import { createPostgresTaskStore, systemJobs } from "./infrastructure/postgres-task-store.ts";
import type { OrchestratorSchema } from "./infrastructure/schema.ts";

import { composeLoop, type RecordParts, type SharedParts } from "./loop.ts";
import { keepMemory } from "./memory-keeping.ts";
import { composePrivacy } from "./privacy.ts";

const service = "orchestrator";
const jobs = [...systemJobs, ...approvalJobs, ...purgeJobs, ...afterTaskJobs];

export type { RecordParts, SharedParts };

/** Starts the orchestrator: its schema, its rpcs, then its worker. Disposing hands running tasks over within the grace. */
export async function startOrchestrator(environment: Environment, shared: SharedParts = {}): Promise<RunningService> {
  const config = readConfig(environment);
  const logger = createLogger({ service, level: config.DROVER_LOG_LEVEL });
  const metrics = createMetrics(service);
  const { DATABASE_URL: url, DROVER_MAX_MESSAGE_BYTES: maxMessageBytes, DROVER_SHUTDOWN_GRACE_MS: graceMs } = config;
  const onFault = (fault: unknown, what: string) => logger.error({ err: fault }, what);
  await using started = new AsyncDisposableStack();
  await migrate({ url, service, directory: fileURLToPath(new URL("../migrations", import.meta.url)) });
  const database = started.use(
    openDatabase<OrchestratorSchema>({ url, service, poolMax: config.DATABASE_POOL_MAX, systemJobs: jobs, logger }),
  );
  const bus = shared.bus ?? started.use(await connectNats({ url: required(config.NATS_URL), logger, name: service }));
  const own = { store: createPostgresTaskStore(database), signals: createBusSignals(bus, onFault) };
  const { store, signals } = shared.intercept?.(own) ?? own;
  const records = createPostgresTaskRecords(database);
  const agents = createPostgresAgentStore(database);
  const tracer = started.use(createTracer({ service, bus, logger }));

  const outside = shared.outside ?? {};
  const loop = composeLoop(started, { config, database, bus, logger, store, signals, tracer, outside, onFault });
  const { run, peers, decisions, servers, catalog } = loop;
  // In one process over one locked data folder, everything that is held was held by an earlier self.
  const replica = config.DROVER_REPLICA ?? (shared.bus === undefined ? newId() : "embedded");
  const recording = { database, store, signals, tracer, onFault };
  const privacy = composePrivacy({ ...recording, peers, replica, ...purgeTimesOf(config) });
  const hubs = new TaskHubs({ store, signals, clock: systemClock, pollMs: config.DROVER_WATCH_POLL_MS, onFault });
  const watch = { store, hubs, clock: systemClock, heartbeatMs: config.DROVER_WATCH_HEARTBEAT_MS };
  const defaults = submissionDefaultsOf(config);
  const server = started.use(
    await startRpcServer({
      ...{ service, listen: config.DROVER_LISTEN, limits: { maxMessageBytes }, logger, metrics, graceMs },
      identity: createIdentityVerifier({ publicKeys: config.DROVER_IDENTITY_PUBLIC_KEYS, audience: service }),
      routes: (router) => {
        router.service(TaskService, createTaskService({ store, records, agents, signals, tracer, defaults, watch }));
        router.service(AgentService, { ...agentRpcs({ store: agents, catalog }), ...decisions.policyRpcs });
        decisions.serve(router);
        servers.serve(router);
        privacy.serve(router);
      },
    }),
  );
  started.use(hubs);
  started.use(decisions.start());
  started.use(privacy.start());
  if (outside.memory === undefined) started.use(keepMemory({ ...recording, config, peers }));
  const options = workerOptionsOf(config, replica);
  const worker = started.use(
    startWorker({ store, clock: systemClock, onFault, run: (claim, control) => runTask(run, claim, control) }, options),
  );
  metrics.gauge({ name: "drover_tasks_active", help: "Tasks that this replica works on.", read: () => worker.active });
  metrics.gauge({ name: "drover_task_watchers", help: "Open watches of tasks.", read: () => hubs.watchers });
  started.use(listenForTasks(bus, worker));
  started.use(keepHouse({ store, records, signals, tracer, clock: systemClock, onFault, ...houseTimesOf(config) }));
  const ready = { postgres: (signal: AbortSignal) => database.ping(signal), bus: () => bus.healthy() };
  const admin = started.use(await startAdminServer({ listen: config.DROVER_ADMIN_LISTEN, metrics, logger, ready }));
  server.setServing(true);
  started.defer(() => server.setServing(false));
  const parts = started.move();
  const dispose = () => parts.disposeAsync();
  return { name: service, address: server.address, adminAddress: admin.address, [Symbol.asyncDispose]: dispose };
}

function required(url: string | undefined): string {
  if (url === undefined) throw new DroverError("FAILED_PRECONDITION", "NATS_URL is required: no bus was given.");
  return url;
}
