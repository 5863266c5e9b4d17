import { ConfigurationError, type Environment } from "./environment.ts";
import { createLogger, type Logger } from "./logger.ts";
import { countProcessFault } from "./process-registry.ts";
import type { RunningService, StartService } from "./running-service.ts";

/** What {@link serveUntilSignal} needs of the process; a test gives its own. */
export interface ProcessHost {
  readonly env: Environment;
  on(event: string, listener: (argument: unknown) => void): unknown;
  exit(code: number): void;
}

const signals = { SIGINT: 130, SIGTERM: 143 } as const;

/** Beyond the drain's own grace, for pools and flushes. */
const extraGraceMs = 5000;

/**
 * The whole of a service's `main.ts`: starts it and serves until SIGTERM or SIGINT, then disposes of
 * it within `DROVER_SHUTDOWN_GRACE_MS` (20 s) and 5 s more, and exits with 0. A second signal exits at once
 * with 128 + its number, a drain that takes too long or fails with 1. A bad configuration or a failed
 * start exits with 1 and says why; an unhandled rejection or uncaught exception is logged, counted and exits with 1.
 */
export async function serveUntilSignal(
  name: string,
  start: StartService,
  host: ProcessHost = process,
  logger: Logger = createLogger({ service: name }),
): Promise<void> {
  const asked = Promise.withResolvers<void>();
  let stopping = false;
  for (const [signal, code] of Object.entries(signals)) {
    host.on(signal, () => {
      if (stopping) return host.exit(code);
      stopping = true;
      logger.info({ signal }, "stopping");
      asked.resolve();
    });
  }
  dieOfFaults(host, logger);
  const service = await startOrExit(start, host, logger);
  if (service === undefined) return;
  logger.info({ address: service.address, admin_address: service.adminAddress }, "serving");
  await asked.promise;
  await stop(service, graceOf(host.env) + extraGraceMs, host, logger);
}

function dieOfFaults(host: ProcessHost, logger: Logger): void {
  const die = (kind: "unhandled_rejection" | "uncaught_exception") => (error: unknown) => {
    countProcessFault(kind);
    logger.fatal({ err: error, kind }, "a fault reached the top of the process");
    host.exit(1);
  };
  host.on("unhandledRejection", die("unhandled_rejection"));
  host.on("uncaughtException", die("uncaught_exception"));
}

async function startOrExit(
  start: StartService,
  host: ProcessHost,
  logger: Logger,
): Promise<RunningService | undefined> {
  try {
    return await start(host.env);
  } catch (error) {
    if (error instanceof ConfigurationError) logger.fatal({ faults: error.faults }, "the configuration is not valid");
    else logger.fatal({ err: error }, "the service could not start");
    host.exit(1);
    return undefined;
  }
}

async function stop(service: RunningService, graceMs: number, host: ProcessHost, logger: Logger): Promise<void> {
  const timer = setTimeout(() => {
    logger.error({ grace_ms: graceMs }, "the drain took too long");
    host.exit(1);
  }, graceMs);
  try {
    await service[Symbol.asyncDispose]();
    logger.info("stopped");
    host.exit(0);
  } catch (error) {
    logger.error({ err: error }, "the drain failed");
    host.exit(1);
  } finally {
    clearTimeout(timer);
  }
}

function graceOf(environment: Environment): number {
  const grace = Number(environment.DROVER_SHUTDOWN_GRACE_MS);
  return Number.isFinite(grace) && grace > 0 ? grace : 20_000;
}
