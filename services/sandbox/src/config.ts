import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { ConfigurationError, commonVariables, type Environment, env, parseEnvironment } from "@drover/runtime";
import type { AdmissionLimits } from "./application/admission.ts";
import type { WorkspaceLimits } from "./application/ports.ts";
import type { RunSettings } from "./application/run-driver.ts";
import type { SessionSettings } from "./application/sessions.ts";
import { customLanguages, withCustom } from "./domain/custom-languages.ts";
import type { Language } from "./domain/language.ts";
import { languages } from "./domain/languages.ts";
import type { LimitPolicy } from "./domain/limits.ts";
import { defaultLimitPolicy } from "./domain/limits.ts";
import type { Confinement } from "./infrastructure/policy-version.ts";

const { defaults, caps } = defaultLimitPolicy;

/** Where a Pod finds its own credentials. */
const serviceAccount = "/var/run/secrets/kubernetes.io/serviceaccount";

const variables = {
  ...commonVariables(7702),
  DOCKER_HOST: env.text({
    default: "unix:///var/run/docker.sock",
    pattern: /^(?:unix:\/\/\/.+|tcp:\/\/[^/:]+:\d{1,5})$/,
    allowed: "unix:///path or tcp://host:port",
  }),
  DROVER_SANDBOX_RUNTIME: env.text({ default: "", pattern: /^[A-Za-z0-9._-]{0,64}$/ }),
  DROVER_SANDBOX_BACKEND: env.choice(["docker", "kubernetes", "local"], { default: "docker" }),
  DROVER_SANDBOX_KUBERNETES_API: env.text({
    default: "https://kubernetes.default.svc",
    pattern: /^https?:\/\/[^/\s]{1,255}$/,
    allowed: "https://host:port",
  }),
  DROVER_SANDBOX_KUBERNETES_NAMESPACE: env.text({ default: "drover-runs", pattern: /^[a-z0-9][a-z0-9-]{0,62}$/ }),
  DROVER_SANDBOX_KUBERNETES_RUNTIME_CLASS: env.text({ default: "", pattern: /^[a-z0-9.-]{0,63}$/ }),
  DROVER_SANDBOX_KUBERNETES_TOKEN_FILE: env.text({ default: `${serviceAccount}/token` }),
  DROVER_SANDBOX_KUBERNETES_CA_FILE: env.text({ default: `${serviceAccount}/ca.crt` }),
  DROVER_SANDBOX_ALLOW_UNSAFE_LOCAL: env.flag({ default: false }),
  DROVER_SANDBOX_LOCAL_FOLDER: env.text({ default: join(tmpdir(), "drover-sandbox"), pattern: /^\/.{1,200}$/ }),
  DROVER_SANDBOX_ISOLATION: env.choice(["hardened", "userns", "gvisor", "none"], { default: "hardened" }),
  DROVER_SANDBOX_IMAGE_PREFIX: env.text({ default: "drover/sandbox-", pattern: /^[a-z0-9][a-z0-9._:/-]{0,200}$/ }),
  DROVER_SANDBOX_LANGUAGES: env.text({ default: "[]" }),
  DROVER_SANDBOX_INSTANCE: env.text({ pattern: /^[A-Za-z0-9._:-]{1,128}$/ }).optional(),
  DROVER_SANDBOX_MAX_RUNS: env.integer({ min: 1, max: 1000, default: 8 }),
  DROVER_SANDBOX_MAX_WAITING: env.integer({ min: 0, max: 10_000, default: 64 }),
  DROVER_SANDBOX_MAX_WAITING_PER_TENANT: env.integer({ min: 0, max: 10_000, default: 32 }),
  DROVER_SANDBOX_MEMORY_BUDGET: env.bytes({ min: 32 * 1024 ** 2, default: 4 * 1024 ** 3 }),
  DROVER_SANDBOX_POOL_MIN: env
    .text({ pattern: /^[a-z0-9-]{1,32}=\d{1,3}(?:,[a-z0-9-]{1,32}=\d{1,3})*$/, allowed: "e.g. python=2,bash=1" })
    .optional(),
  DROVER_SANDBOX_POOL_MAX: env.integer({ min: 0, max: 256, default: 4 }),
  DROVER_SANDBOX_POOL_IDLE_MS: env.milliseconds({ min: 1000, max: 86_400_000, default: 300_000 }),
  DROVER_SANDBOX_WALL_MS: env.milliseconds({ min: 1, max: 3_600_000, default: defaults.wallMs }),
  DROVER_SANDBOX_MAX_WALL_MS: env.milliseconds({ min: 1, max: 3_600_000, default: caps.wallMs }),
  DROVER_SANDBOX_COMPILE_MS: env.milliseconds({ min: 1, max: 3_600_000, default: defaults.compileMs }),
  DROVER_SANDBOX_MAX_COMPILE_MS: env.milliseconds({ min: 1, max: 3_600_000, default: caps.compileMs }),
  DROVER_SANDBOX_CPU_TIME_MS: env.milliseconds({ min: 1, max: 36_000_000, default: defaults.cpuTimeMs }),
  DROVER_SANDBOX_MAX_CPU_TIME_MS: env.milliseconds({ min: 1, max: 36_000_000, default: caps.cpuTimeMs }),
  DROVER_SANDBOX_MEMORY: env.bytes({ min: 32 * 1024 ** 2, default: defaults.memoryBytes }),
  DROVER_SANDBOX_MAX_MEMORY: env.bytes({ min: 32 * 1024 ** 2, default: caps.memoryBytes }),
  DROVER_SANDBOX_CPU_MILLIS: env.integer({ min: 10, max: 64_000, default: defaults.cpuMillis }),
  DROVER_SANDBOX_MAX_CPU_MILLIS: env.integer({ min: 10, max: 64_000, default: caps.cpuMillis }),
  DROVER_SANDBOX_PROCESSES: env.integer({ min: 32, max: 10_000, default: defaults.processes }),
  DROVER_SANDBOX_MAX_PROCESSES: env.integer({ min: 32, max: 10_000, default: caps.processes }),
  DROVER_SANDBOX_OUTPUT: env.bytes({ min: 1, max: 1_500_000, default: defaults.outputBytes }),
  DROVER_SANDBOX_MAX_OUTPUT: env.bytes({ min: 1, max: 1_500_000, default: caps.outputBytes }),
  DROVER_SANDBOX_HARD_OUTPUT: env.bytes({ min: 1024, default: 256 * 1024 ** 2 }),
  DROVER_SANDBOX_START_TIMEOUT_MS: env.milliseconds({ min: 100, max: 600_000, default: 30_000 }),
  DROVER_SANDBOX_REAP_MS: env.milliseconds({ min: 100, max: 15_000, default: 10_000 }),
  DROVER_SANDBOX_RETENTION_DAYS: env.integer({ min: 1, max: 3650, default: 30 }),
  DROVER_SANDBOX_SESSIONS: env.integer({ min: 1, max: 1000, default: 16 }),
  DROVER_SANDBOX_SESSION_IDLE_MS: env.milliseconds({ min: 100, max: 86_400_000, default: 600_000 }),
  DROVER_SANDBOX_SHELL_MS: env.milliseconds({ min: 1, max: 3_600_000, default: 120_000 }),
  DROVER_SANDBOX_MAX_SHELL_MS: env.milliseconds({ min: 1, max: 3_600_000, default: 600_000 }),
  DROVER_SANDBOX_SHELL_COMMANDS: env.text({ default: "", pattern: /^[^\s,]*(?:,[^\s,]+)*$/, allowed: "ls,cat,grep" }),
  DROVER_SANDBOX_BACKGROUND_MS: env.milliseconds({ min: 1, max: 86_400_000, default: 3_600_000 }),
  DROVER_WORKSPACE_MAX_BYTES: env.bytes({ min: 1024, default: 128 * 1024 ** 2 }),
  DROVER_WORKSPACE_MAX_FILE_BYTES: env.bytes({ min: 1024, max: 60 * 1024 ** 2, default: 32 * 1024 ** 2 }),
  DROVER_WORKSPACE_MAX_FILES: env.integer({ min: 1, max: 100_000, default: 5000 }),
};

/** Everything the service is told by its environment; README.md says what each variable means. */
export function readConfig(environment: Environment) {
  return parseEnvironment(environment, variables);
}

type Config = ReturnType<typeof readConfig>;

/** Defaults and caps of a run's limits. A default above its cap is the cap. */
export function limitPolicyOf(config: Config): LimitPolicy {
  const policyCaps = {
    wallMs: config.DROVER_SANDBOX_MAX_WALL_MS,
    memoryBytes: Math.min(config.DROVER_SANDBOX_MAX_MEMORY, config.DROVER_SANDBOX_MEMORY_BUDGET),
    cpuMillis: config.DROVER_SANDBOX_MAX_CPU_MILLIS,
    processes: config.DROVER_SANDBOX_MAX_PROCESSES,
    outputBytes: config.DROVER_SANDBOX_MAX_OUTPUT,
    compileMs: config.DROVER_SANDBOX_MAX_COMPILE_MS,
    cpuTimeMs: config.DROVER_SANDBOX_MAX_CPU_TIME_MS,
  };
  return {
    caps: policyCaps,
    defaults: {
      wallMs: Math.min(config.DROVER_SANDBOX_WALL_MS, policyCaps.wallMs),
      memoryBytes: Math.min(config.DROVER_SANDBOX_MEMORY, policyCaps.memoryBytes),
      cpuMillis: Math.min(config.DROVER_SANDBOX_CPU_MILLIS, policyCaps.cpuMillis),
      processes: Math.min(config.DROVER_SANDBOX_PROCESSES, policyCaps.processes),
      outputBytes: Math.min(config.DROVER_SANDBOX_OUTPUT, policyCaps.outputBytes),
      compileMs: Math.min(config.DROVER_SANDBOX_COMPILE_MS, policyCaps.compileMs),
      cpuTimeMs: Math.min(config.DROVER_SANDBOX_CPU_TIME_MS, policyCaps.cpuTimeMs),
    },
  };
}

/** The languages that come with the service and those of the configuration. */
export function languagesOf(config: Config): readonly Language[] {
  try {
    return withCustom(languages, customLanguages(config.DROVER_SANDBOX_LANGUAGES));
  } catch (error) {
    const problem = error instanceof Error ? error.message : "allowed: a JSON list of languages";
    throw new ConfigurationError([{ variable: "DROVER_SANDBOX_LANGUAGES", problem }]);
  }
}

/** What decides, beside limits and languages, how the backend in use confines a run. */
export function confinementOf(config: Config): Confinement {
  const backend = config.DROVER_SANDBOX_BACKEND;
  const runtimes = {
    docker: config.DROVER_SANDBOX_RUNTIME,
    kubernetes: config.DROVER_SANDBOX_KUBERNETES_RUNTIME_CLASS,
    local: "",
  };
  return { backend, runtime: runtimes[backend], level: backend === "local" ? "none" : config.DROVER_SANDBOX_ISOLATION };
}

/** What frames every run. */
export function runSettingsOf(config: Config, policyVersion: string): RunSettings {
  return {
    policyVersion,
    imagePrefix: config.DROVER_SANDBOX_IMAGE_PREFIX,
    startTimeoutMs: config.DROVER_SANDBOX_START_TIMEOUT_MS,
    hardOutputBytes: config.DROVER_SANDBOX_HARD_OUTPUT,
  };
}

/** How much may run and wait at once. */
export function admissionLimitsOf(config: Config): AdmissionLimits {
  return {
    slots: config.DROVER_SANDBOX_MAX_RUNS,
    memoryBytes: config.DROVER_SANDBOX_MEMORY_BUDGET,
    queue: config.DROVER_SANDBOX_MAX_WAITING,
    queuePerTenant: config.DROVER_SANDBOX_MAX_WAITING_PER_TENANT,
  };
}

/** How many sessions there may be, how long an idle one lives, and wall times of their commands. */
export function sessionsOf(config: Config): SessionSettings {
  return {
    most: config.DROVER_SANDBOX_SESSIONS,
    idleMs: config.DROVER_SANDBOX_SESSION_IDLE_MS,
    commands: new Set(config.DROVER_SANDBOX_SHELL_COMMANDS.split(",").filter((name) => name !== "")),
    timeoutMs: config.DROVER_SANDBOX_SHELL_MS,
    maxTimeoutMs: config.DROVER_SANDBOX_MAX_SHELL_MS,
    backgroundMs: config.DROVER_SANDBOX_BACKGROUND_MS,
  };
}

/** What a workspace may hold. */
export function workspaceLimitsOf(config: Config): WorkspaceLimits {
  return {
    maxBytes: config.DROVER_WORKSPACE_MAX_BYTES,
    maxFileBytes: config.DROVER_WORKSPACE_MAX_FILE_BYTES,
    maxFiles: config.DROVER_WORKSPACE_MAX_FILES,
  };
}

/**
 * Who this process is: `name` is the same after a restart, so that what the dead one left is known as
 * its own at once; `owner` is new at every start. Two living processes of one host cannot listen on
 * one port; on port 0 the name is random.
 */
export function instanceOf(config: Config): { readonly name: string; readonly owner: string } {
  const port = config.DROVER_LISTEN.slice(config.DROVER_LISTEN.lastIndexOf(":") + 1);
  const place = port === "0" ? crypto.randomUUID() : port;
  const name = config.DROVER_SANDBOX_INSTANCE ?? `${hostname()}:${place}`;
  return { name, owner: `${name}/${crypto.randomUUID()}` };
}
