import { Counter, collectDefaultMetrics, Registry } from "prom-client";

let registry: Registry | undefined;
let faults: Counter<"kind"> | undefined;

/**
 * The registry of what belongs to the process and not to one service (CPU, memory, event loop, faults).
 * There is one, so that six services in one process do not measure the same thing six times.
 */
export function processRegistry(): Registry {
  if (registry === undefined) {
    registry = new Registry();
    collectDefaultMetrics({ register: registry });
  }
  return registry;
}

/** Counts a fault that nobody caught, e.g. an unhandled rejection. */
export function countProcessFault(kind: "unhandled_rejection" | "uncaught_exception"): void {
  faults ??= new Counter({
    name: "drover_process_faults_total",
    help: "Errors that reached the top of the process.",
    labelNames: ["kind"],
    registers: [processRegistry()],
  });
  faults.inc({ kind });
}
