import { fileURLToPath } from "node:url";
import { blobMigrations, createBlobStore } from "@drover/blob";
import { type Bus, connectNats, stopWithTasks } from "@drover/bus";
import { DroverError } from "@drover/kernel";
import { migrate, openDatabase } from "@drover/postgres";
import { ErasureService } from "@drover/proto/common/v1/erasure_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import { createErasureService, createIdentityVerifier, startRpcServer } from "@drover/rpc";
import {
  createLogger,
  createMetrics,
  type Environment,
  type Logger,
  type RunningService,
  startAdminServer,
} from "@drover/runtime";
import { createTracer } from "@drover/tracing";
import { documentHandlers } from "./api/document-handlers.ts";
import { retrievalHandlers } from "./api/retrieval-handlers.ts";
import { createDocuments } from "./application/documents.ts";
import { createReceive } from "./application/receive.ts";
import { createSearchDocuments } from "./application/search-documents.ts";
import { createUploadDocument } from "./application/upload-document.ts";
import { readConfig } from "./config.ts";
import { createDocumentStore } from "./infrastructure/document-store.ts";
import { openEmbedder } from "./infrastructure/embedder.ts";
import { createEraser } from "./infrastructure/eraser.ts";
import type { RagSchema } from "./infrastructure/schema.ts";
import { createSearchIndex } from "./infrastructure/search-index.ts";
import { createWorkerSplitter } from "./infrastructure/worker-splitter.ts";

const service = "rag";

/** What the embedded profile gives to all services of its process. */
export interface SharedParts {
  readonly bus?: Bus;
}

/** Starts the rag service: its schema, its rpcs and its admin server. */
export async function startRag(environment: Environment, shared: SharedParts = {}): Promise<RunningService> {
  const config = readConfig(environment);
  const logger = createLogger({ service, level: config.logLevel });
  const metrics = createMetrics(service);
  const url = config.databaseUrl;
  await using started = new AsyncDisposableStack();
  const directory = fileURLToPath(new URL("../migrations", import.meta.url));
  await migrate({ url, service, directory, include: [blobMigrations] });
  const database = started.use(openDatabase<RagSchema>({ url, service, poolMax: config.databasePoolMax, logger }));
  const bus = shared.bus ?? started.use(await connect(config.natsUrl, logger));
  const tracer = started.use(createTracer({ service, bus, logger }));
  const embedder = started.use(openEmbedder(config.embedding));
  const splitter = started.use(createWorkerSplitter(config.split));
  const store = createDocumentStore(database, createBlobStore(database, { maxBytes: config.upload.maxBytes }));
  const index = createSearchIndex(database);
  const receive = createReceive(config.upload);
  const { maxChunks, weights, embeddingTimeoutMs } = config;
  const upload = createUploadDocument({ store, splitter, embedder, receive, tracer, maxChunks });
  const search = createSearchDocuments({ store, index, embedder, weights, tracer, embeddingTimeoutMs });
  const tasks = started.use(stopWithTasks(bus));
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
          .service(DocumentService, documentHandlers({ upload, documents: createDocuments(store) }, tasks))
          .service(RetrievalService, retrievalHandlers(search, tasks))
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

async function connect(url: string | undefined, logger: Logger): Promise<Bus> {
  if (url === undefined) throw new DroverError("FAILED_PRECONDITION", "NATS_URL is required: no bus was given.");
  return await connectNats({ url, logger, name: service });
}
