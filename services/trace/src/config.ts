import { commonVariables, type Environment, env, parseEnvironment } from "@drover/runtime";

/** Everything the service is told by its environment; see README.md for the meaning. */
export function readConfig(environment: Environment) {
  return parseEnvironment(environment, {
    ...commonVariables(7705),
    DROVER_TRACE_SILENT_MS: env.milliseconds({ min: 1_000, max: 86_400_000, default: 120_000 }),
    DROVER_TRACE_SETTLE_MS: env.milliseconds({ min: 1_000, max: 86_400_000, default: 30_000 }),
    DROVER_TRACE_SWEEP_MS: env.milliseconds({ min: 100, max: 3_600_000, default: 5_000 }),
    DROVER_TRACE_QUIET_MS: env.milliseconds({ min: 0, max: 600_000, default: 10_000 }),
    DROVER_TRACE_RETENTION_DAYS: env.integer({ min: 1, max: 3_650, default: 30 }),
  });
}
