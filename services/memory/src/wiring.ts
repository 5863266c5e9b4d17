import { fileURLToPath } from "node:url";
import { blobMigrations, createBlobStore } from "@drover/blob";
import { type Bus, connectNats, stopWithTasks } from "@drover/bus";
import { DroverError } from "@drover/kernel";
import { migrate, openDatabase } from "@drover/postgres";
import { ErasureService } from "@drover/proto/common/v1/erasure_service";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import { FactService } from "@drover/proto/memory/v1/fact_service";
import { createErasureService, createIdentityVerifier, startRpcServer } from "@drover/rpc";
import {
  createLogger,
  createMetrics,
  type Environment,
  type Logger,
  type RunningService,
  startAdminServer,
} from "@drover/runtime";
import { createTracer, type Tracer } from "@drover/tracing";
import { type ConversationUseCases, conversationHandlers } from "./api/conversation-handlers.ts";
import { factHandlers } from "./api/fact-handlers.ts";
import { createAppendMessages } from "./application/append-messages.ts";
import { createBuildContext } from "./application/build-context.ts";
import { createListMessages } from "./application/list-messages.ts";
import type { ConversationLog, SpillStore } from "./application/ports.ts";
import { createPutSpill } from "./application/put-spill.ts";
import { createReadSpill } from "./application/read-spill.ts";
import { type MemoryConfig, readConfig } from "./config.ts";
import { composeFacts } from "./facts.ts";
import { createConversationLog } from "./infrastructure/conversation-log.ts";
import { createEraser } from "./infrastructure/eraser.ts";
import type { MemorySchema } from "./infrastructure/schema.ts";
import { createSpillBodies } from "./infrastructure/spill-bodies.ts";
import { createTokenCounter } from "./infrastructure/token-counter.ts";

const service = "memory";

/** What the embedded profile gives to all services of its process. */
export interface SharedParts {
  readonly bus?: Bus;
}

/** Starts the memory service: its schema, its rpcs and its admin server. */
export async function startMemory(environment: Environment, shared: SharedParts = {}): Promise<RunningService> {
  const config = readConfig(environment);
  const logger = createLogger({ service, level: config.logLevel });
  const metrics = createMetrics(service);
  const url = config.databaseUrl;
  await using started = new AsyncDisposableStack();
  const directory = fileURLToPath(new URL("../migrations", import.meta.url));
  await migrate({ url, service, directory, include: [blobMigrations] });
  const database = started.use(openDatabase<MemorySchema>({ url, service, poolMax: config.databasePoolMax, logger }));
  const bus = shared.bus ?? started.use(await connect(config.natsUrl, logger));
  const tracer = started.use(createTracer({ service, bus, logger }));
  // A body has up to two bytes for each one that came.
  const blobs = createBlobStore(database, { maxBytes: 2 * config.spill.maxBytes });
  const bodies = createSpillBodies(database, blobs);
  const log = createConversationLog(database, bodies);
  const tasks = started.use(stopWithTasks(bus));
  const use = useCases(config, { log, spills: bodies, tracer });
  const facts = composeFacts(started, { config, database, tracer, logger });
  const server = started.use(
    await startRpcServer({
      service,
      listen: config.listen,
      limits: { maxMessageBytes: config.maxMessageBytes },
      identity: createIdentityVerifier({ publicKeys: config.identityPublicKeys, audience: service }),
      logger,
      metrics,
      graceMs: config.shutdownGraceMs,
      routes: (router) =>
        router
          .service(ConversationService, conversationHandlers(use, tasks))
          .service(FactService, factHandlers(facts, tasks))
          .service(ErasureService, createErasureService(createEraser(database))),
    }),
  );
  const admin = started.use(
    await startAdminServer({
      listen: config.adminListen,
      metrics,
      logger,
      ready: { postgres: (signal) => database.ping(signal), bus: () => bus.healthy() },
    }),
  );
  server.setServing(true);
  const parts = started.move();
  const dispose = () => parts.disposeAsync();
  return { name: service, address: server.address, adminAddress: admin.address, [Symbol.asyncDispose]: dispose };
}

function useCases(
  config: MemoryConfig,
  parts: { readonly log: ConversationLog; readonly spills: SpillStore; readonly tracer: Tracer },
): ConversationUseCases {
  const { log, spills, tracer } = parts;
  const counter = createTokenCounter();
  const policy = {
    thresholdCharacters: config.spillThresholdCharacters,
    previewCharacters: config.context.previewCharacters,
  };
  const append = createAppendMessages({ log, counter, policy });
  return {
    append,
    list: createListMessages(log),
    build: createBuildContext({ append, log, counter, tracer, defaults: config.context }),
    putSpill: createPutSpill(spills, config.spill),
    readSpill: createReadSpill(spills, config.viewCharacters),
  };
}

async function connect(url: string | undefined, logger: Logger): Promise<Bus> {
  if (url === undefined) throw new DroverError("FAILED_PRECONDITION", "NATS_URL is required: no bus was given.");
  return await connectNats({ url, logger, name: service });
}
