import { fileURLToPath } from "node:url";
import { type Bus, connectNats } from "@drover/bus";
import { DroverError, newId, systemClock } from "@drover/kernel";
import { migrate, openDatabase } from "@drover/postgres";
import { AgentService } from "@drover/proto/orchestrator/v1/agent_service";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { createIdentityMinter, createIdentityVerifier, startRpcServer } from "@drover/rpc";
import { createLogger, createMetrics, type Environment, type RunningService, startAdminServer } from "@drover/runtime";
import { createTracer } from "@drover/tracing";
import { agentRpcs } from "./api/agent-rpcs.ts";
import { listenForTasks } from "./api/task-listener.ts";
import { createTaskService } from "./api/task-service.ts";
import { keepHouse } from "./application/keep-house.ts";
import type { TaskSignals, TaskStore } from "./application/ports.ts";
import { type RunParts, runTask } from "./application/run-task.ts";
import { TaskHubs } from "./application/task-hub.ts";
import { startWorker } from "./application/worker.ts";
import {
  contextLimitsOf,
  decisionTimesOf,
  houseTimesOf,
  loopLimitsOf,
  modelEndpointOf,
  readConfig,
  submissionDefaultsOf,
  workerOptionsOf,
} from "./config.ts";
import { composeDecisions } from "./decisions.ts";
import { createAgentCatalog, createAnswerChecks } from "./infrastructure/answer-checks.ts";
import { createBusSignals } from "./infrastructure/bus-signals.ts";
import { connectPeers, openModel } from "./infrastructure/peers.ts";
import { createPostgresAgentStore } from "./infrastructure/postgres-agent-store.ts";
import { approvalJobs } from "./infrastructure/postgres-approval-store.ts";
import { createPostgresTaskRecords } from "./infrastructure/postgres-task-records.ts";
import { createPostgresTaskStore, systemJobs } from "./infrastructure/postgres-task-store.ts";
import { promptTokens } from "./infrastructure/prompt-tokens.ts";
import { createRpcMemory } from "./infrastructure/rpc-memory.ts";
import { createRpcWorkspaces } from "./infrastructure/rpc-workspaces.ts";
import type { OrchestratorSchema } from "./infrastructure/schema.ts";
import { standardTools } from "./infrastructure/tools/standard-tools.ts";
import { createToolBox } from "./infrastructure/tools/tool-box.ts";

const service = "orchestrator";
const jobs = [...systemJobs, ...approvalJobs];

/** What the embedded profile gives to all services of its process. */
export interface SharedParts {
  readonly bus?: Bus;
  /** Stands between the loop and its record, so that a test can fail there. Nothing in an environment can set it. */
  readonly intercept?: (parts: RecordParts) => RecordParts;
  /** Takes the place of what the loop calls, so that a benchmark measures the loop alone. */
  readonly outside?: Partial<Pick<RunParts, "model" | "memory" | "tools">>;
}

/** What the loop writes with. */
export interface RecordParts {
  readonly store: TaskStore;
  readonly signals: TaskSignals;
}

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

  const minter = createIdentityMinter({ privateKey: config.DROVER_IDENTITY_PRIVATE_KEY, issuer: service });
  const addresses = { sandbox: config.SANDBOX_ADDRESS, rag: config.RAG_ADDRESS, memory: config.MEMORY_ADDRESS };
  const peers = started.use(connectPeers({ addresses, minter, maxMessageBytes }));
  const { model, egress } = openModel(modelEndpointOf(config));
  started.use(egress);
  const standard = { ...peers, languages: config.DROVER_CODE_LANGUAGES, patienceMs: config.DROVER_TOOL_PATIENCE_MS };
  const tools = shared.outside?.tools ?? createToolBox(standardTools(standard));
  const decisions = composeDecisions({ database, signals, tools, onFault, ...decisionTimesOf(config) });
  const run = {
    ...{ tools, policies: decisions.book, store, signals, tracer, model, onFault, clock: systemClock },
    memory: createRpcMemory(peers.memory, contextLimitsOf(config)),
    workspaces: createRpcWorkspaces(peers.sandbox),
    ...loopLimitsOf(config),
    promptTokens,
    checks: createAnswerChecks(peers.sandbox, decisions.patterns),
    ...shared.outside,
  };
  const names = tools.specs.map((spec) => spec.name);
  const catalog = createAgentCatalog(names, config.DROVER_CODE_LANGUAGES, decisions.patterns);
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
      },
    }),
  );
  started.use(hubs);
  started.use(decisions.start());
  // In one process over one locked data folder, everything that is held was held by an earlier self.
  const replica = config.DROVER_REPLICA ?? (shared.bus === undefined ? newId() : "embedded");
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
