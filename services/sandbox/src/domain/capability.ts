import { DroverError } from "@drover/kernel";
import type { Limits } from "./limits.ts";

/** What not every backend can do. Everything else of a backend's contract holds for all of them. */
export type Capability =
  /** `limits.memory_bytes` holds, and the backend knows when memory ran out. */
  | "memory-limit"
  /** `limits.cpu_millis` and `limits.cpu_time` hold. */
  | "cpu-limit"
  | "process-limit"
  /** The program reaches no network but its own loopback. */
  | "network-off"
  /** The program sees a root of its own and can write to its own places only. */
  | "file-isolation"
  /** Process 1 is out of the program's reach on gVisor's kernel as well, where that takes two users. */
  | "process-one-apart";

const limitsOf: readonly (readonly [keyof Limits, string, Capability])[] = [
  ["memoryBytes", "limits.memory_bytes", "memory-limit"],
  ["cpuMillis", "limits.cpu_millis", "cpu-limit"],
  ["cpuTimeMs", "limits.cpu_time", "cpu-limit"],
  ["processes", "limits.processes", "process-limit"],
];

/**
 * Refuses what a caller asked for by name and the backend cannot do: UNIMPLEMENTED, reason
 * UNSUPPORTED, with the field. A limit that nobody asked for is no fault; see {@link limitsInForce}.
 */
export function checkSupported(asked: Limits, backend: string, capabilities: ReadonlySet<Capability>): void {
  for (const [key, field, capability] of limitsOf) {
    if (asked[key] > 0 && !capabilities.has(capability)) throw unsupported(field, backend, capability);
  }
}

/** The limits as a backend enforces them: one that it cannot enforce is 0, so that no record claims it. */
export function limitsInForce(limits: Limits, capabilities: ReadonlySet<Capability>): Limits {
  const inForce: Record<keyof Limits, number> = { ...limits };
  for (const [key, , capability] of limitsOf) if (!capabilities.has(capability)) inForce[key] = 0;
  return inForce;
}

function unsupported(field: string, backend: string, capability: Capability): DroverError {
  const message = `${field}: the backend ${backend} has no ${capability}; leave the field out or use another backend.`;
  return new DroverError("UNIMPLEMENTED", message, { reason: "UNSUPPORTED", metadata: { field, backend, capability } });
}
