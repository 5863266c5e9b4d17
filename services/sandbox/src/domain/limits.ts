import { type FieldViolation, invalidFields } from "@drover/kernel";

/** What a run may use. */
export interface Limits {
  readonly wallMs: number;
  /** Memory with swap equal; /tmp and /workspace count. */
  readonly memoryBytes: number;
  readonly cpuMillis: number;
  /** Processes and threads, those of process 1 (about eleven) included. */
  readonly processes: number;
  /** Bytes kept of each output stream. */
  readonly outputBytes: number;
  /** Wall time of the compiler, apart from the program's. */
  readonly compileMs: number;
  /** CPU time of each phase over all its processes; it bites where several CPUs are allowed. */
  readonly cpuTimeMs: number;
}

/** Default and cap of each limit, and the least that a container works with. */
export interface LimitPolicy {
  readonly defaults: Limits;
  readonly caps: Limits;
}

const least: Limits = {
  wallMs: 1,
  memoryBytes: 32 * 1024 ** 2,
  cpuMillis: 10,
  processes: 32,
  outputBytes: 1,
  compileMs: 1,
  cpuTimeMs: 1,
};

/** The policy of a service without configuration. */
export const defaultLimitPolicy: LimitPolicy = {
  defaults: {
    wallMs: 30_000,
    memoryBytes: 512 * 1024 ** 2,
    cpuMillis: 1000,
    processes: 100,
    outputBytes: 102_400,
    compileMs: 30_000,
    cpuTimeMs: 600_000,
  },
  caps: {
    wallMs: 600_000,
    memoryBytes: 2 * 1024 ** 3,
    cpuMillis: 2000,
    processes: 512,
    outputBytes: 1024 ** 2,
    compileMs: 120_000,
    cpuTimeMs: 600_000,
  },
};

const fields: readonly (readonly [keyof Limits, string])[] = [
  ["wallMs", "limits.wall_time"],
  ["memoryBytes", "limits.memory_bytes"],
  ["cpuMillis", "limits.cpu_millis"],
  ["processes", "limits.processes"],
  ["outputBytes", "limits.output_bytes"],
  ["compileMs", "limits.compile_time"],
  ["cpuTimeMs", "limits.cpu_time"],
];

/** A program that was given less time than it asked for would be ended for no fault of its own. */
const times: ReadonlySet<keyof Limits> = new Set(["wallMs", "compileMs", "cpuTimeMs"]);
/** More than any machine has; who asks for it made a mistake in the unit. */
const absurd = 2 ** 53 - 1;

/**
 * The limits to apply: zero takes the default, a value under what a container needs is raised, and one
 * over the cap is clamped. Negative values, times over their cap and values that no number holds
 * exactly are INVALID_ARGUMENT, all of them named at once.
 */
export function applyLimits(requested: Limits, policy: LimitPolicy): Limits {
  const violations: FieldViolation[] = [];
  const applied: Record<keyof Limits, number> = { ...policy.defaults };
  for (const [key, field] of fields) {
    const value = requested[key];
    const most = times.has(key) ? policy.caps[key] : absurd;
    if (value < 0 || value > most) violations.push({ field, found: shown(key, value), allowed: allowed(key, policy) });
    else if (value > 0) applied[key] = Math.min(Math.max(value, least[key]), policy.caps[key]);
  }
  if (violations.length > 0) throw invalidFields(violations);
  return applied;
}

function shown(key: keyof Limits, value: number): string {
  return times.has(key) ? `${value} ms` : String(value);
}

function allowed(key: keyof Limits, { caps }: LimitPolicy): string {
  return times.has(key) ? `0 to ${caps[key]} ms` : `0 to ${caps[key]}`;
}
