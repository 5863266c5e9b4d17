export { joinAddress, splitAddress } from "./address.ts";
export { type AdminServer, type ReadinessChecks, startAdminServer } from "./admin-server.ts";
export { commonVariables } from "./common-variables.ts";
export {
  ConfigurationError,
  type ConfigurationFault,
  type Environment,
  type Parsed,
  parseEnvironment,
  type Variable,
} from "./environment.ts";
export { createLogger, type Logger, type LogLevel } from "./logger.ts";
export { type Counter, createMetrics, type Gauge, type Histogram, type Labels, type Metrics } from "./metrics.ts";
export type { RunningService, StartService } from "./running-service.ts";
export { serveUntilSignal } from "./serve-until-signal.ts";
export { env } from "./variables.ts";
