import type { Metrics } from "@drover/runtime";
import type { PoolMetrics } from "../application/ports.ts";

/** The numbers of the warm pool as Prometheus series. */
export function poolMetrics(metrics: Metrics): PoolMetrics {
  const asked = metrics.counter({
    name: "drover_sandbox_pool_asked_total",
    help: "Containers asked for: hit = one was ready, miss = none was, bypass = of a kind that is not kept ready.",
    labels: ["answer"],
  });
  const help = "Containers that were started ahead and wait for a run.";
  return {
    asked: (answer) => asked.inc({ answer }),
    watch: (read) => void metrics.gauge({ name: "drover_sandbox_pool_ready", help, read }),
  };
}
