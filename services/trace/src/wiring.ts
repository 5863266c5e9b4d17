import { fileURLToPath } from "node:url";
import { type Bus, connectNats } from "@drover/bus";
import { DroverError, systemClock } from "@drover/kernel";
import { migrate, openDatabase } from "@drover/postgres";
import { ErasureService } from "@drover/proto/common/v1/erasure_service";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import { createErasureService, createIdentityVerifier, startRpcServer } from "@drover/rpc";
import {
  createLogger,
  createMetrics,
  type Environment,
  type Logger,
  type Metrics,
  type RunningService,
  startAdminServer,
} from "@drover/runtime";
import { type IngestMeter, listenForFrames } from "./api/frame-listener.ts";
import { createTraceService } from "./api/trace-service.ts";
import { keepHouse } from "./application/housekeeping.ts";
import { ingestFrames } from "./application/ingest-frames.ts";
import { RevisionHub } from "./application/revision-hub.ts";
import { readSpanFacts } from "./application/span-facts.ts";
import { watchLimits } from "./application/watch-trace.ts";
import { readConfig } from "./config.ts";
import { createEraser } from "./infrastructure/eraser.ts";
import { createRevisionHints } from "./infrastructure/revision-hints.ts";
import type { TraceSchema } from "./infrastructure/schema.ts";
import { createTraceReader } from "./infrastructure/trace-reader.ts";
import { createTraceWriter, systemJobs } from "./infrastructure/trace-writer.ts";

const service = "trace";

/** What the embedded profile gives to all services of its process. */
export interface SharedParts {
  readonly bus?: Bus;
}

/** Starts the trace service: its schema, the frames of the work queue, its rpcs and its housekeeping. */
export async function startTrace(environment: Environment, shared: SharedParts = {}): Promise<RunningService> {
  const config = readConfig(environment);
  const logger = createLogger({ service, level: config.DROVER_LOG_LEVEL });
  const metrics = createMetrics(service);
  await using started = new AsyncDisposableStack();
  const { DATABASE_URL: url, DATABASE_POOL_MAX: poolMax, DROVER_MAX_MESSAGE_BYTES: maxMessageBytes } = config;
  await migrate({ url, service, directory: fileURLToPath(new URL("../migrations", import.meta.url)) });
  const database = started.use(
    openDatabase<TraceSchema>({ url, service, poolMax, systemJobs: Object.values(systemJobs), logger }),
  );
  const bus = shared.bus ?? started.use(await connect(config.NATS_URL, logger));
  const reader = createTraceReader(database);
  const markMs = Math.min(config.DROVER_TRACE_SILENT_MS / 4, config.DROVER_TRACE_SETTLE_MS) / 5;
  const writer = createTraceWriter(database, readSpanFacts, markMs);
  const hints = createRevisionHints(bus);

  const stop = new AbortController();
  const limits = {
    everyMs: config.DROVER_TRACE_SWEEP_MS,
    silentMs: config.DROVER_TRACE_SILENT_MS,
    settleMs: config.DROVER_TRACE_SETTLE_MS,
    retentionMs: config.DROVER_TRACE_RETENTION_DAYS * 86_400_000,
  };
  const housekeeping = keepHouse({ writer, hints, clock: systemClock, log: logger, limits }, stop.signal);
  started.defer(async () => {
    stop.abort();
    await housekeeping;
  });
  started.use(listenForFrames(bus, (frames) => ingestFrames({ writer, hints }, frames), meterOf(metrics, logger)));

  const hub = new RevisionHub(hints);
  const watch = { reader, hub, clock: systemClock, limits: { ...watchLimits, quietMs: config.DROVER_TRACE_QUIET_MS } };
  const server = started.use(
    await startRpcServer({
      service,
      listen: config.DROVER_LISTEN,
      limits: { maxMessageBytes },
      identity: createIdentityVerifier({ publicKeys: config.DROVER_IDENTITY_PUBLIC_KEYS, audience: service }),
      logger,
      metrics,
      graceMs: config.DROVER_SHUTDOWN_GRACE_MS,
      routes: (router) =>
        router
          .service(TraceService, createTraceService({ reader, watch, maxTraceBytes: maxMessageBytes * 0.8 }))
          .service(ErasureService, createErasureService(createEraser(database))),
    }),
  );
  started.defer(() => hub[Symbol.dispose]());
  const admin = started.use(
    await startAdminServer({
      listen: config.DROVER_ADMIN_LISTEN,
      metrics,
      logger,
      ready: { postgres: (signal) => database.ping(signal), bus: () => bus.healthy() },
    }),
  );
  server.setServing(true);
  started.defer(() => server.setServing(false));
  const parts = started.move();
  const dispose = () => parts.disposeAsync();
  return { name: service, address: server.address, adminAddress: admin.address, [Symbol.asyncDispose]: dispose };
}

async function connect(url: string | undefined, logger: Logger): Promise<Bus> {
  if (url === undefined) throw new DroverError("FAILED_PRECONDITION", "NATS_URL is required: no bus was given.");
  return await connectNats({ url, logger, name: service });
}

function meterOf(metrics: Metrics, logger: Logger): IngestMeter {
  const records = metrics.counter({ name: "drover_trace_records_total", help: "Records stored, repeats included." });
  const refused = metrics.counter({ name: "drover_trace_refused_frames_total", help: "Frames that were dropped." });
  return {
    stored: (count) => records.inc({}, count),
    refused(frames, error) {
      refused.inc({}, frames);
      logger.warn({ frames, err: error }, "trace frames were refused");
    },
  };
}
