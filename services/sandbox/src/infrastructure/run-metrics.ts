import type { Metrics } from "@drover/runtime";
import type { RunMetrics } from "../application/ports.ts";

/** The numbers of runs as Prometheus series. */
export function runMetrics(metrics: Metrics): RunMetrics {
  const running = metrics.gauge({ name: "drover_sandbox_runs", help: "Runs between acceptance and removal." });
  const seconds = metrics.histogram({
    name: "drover_sandbox_run_seconds",
    help: "From acceptance to the recorded end.",
    labels: ["language", "verdict"],
  });
  const phases = metrics.histogram({
    name: "drover_sandbox_phase_seconds",
    help: "Time of a run's queue, start, inject, compile, run and collect phase.",
    labels: ["language", "phase"],
  });
  return {
    phase: (language, phase, took) => phases.observe(took, { language, phase }),
    running: (change) => running.add(change),
    ended: (language, verdict, took) => seconds.observe(took, { language, verdict }),
  };
}
