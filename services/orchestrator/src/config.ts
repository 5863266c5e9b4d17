import { ConfigurationError, commonVariables, type Environment, env, parseEnvironment } from "@drover/runtime";
import { recordedCalls } from "./domain/step.ts";

/** Everything the service is told by its environment; see README.md for the meaning. */
export function readConfig(environment: Environment) {
  return parseEnvironment(environment, {
    ...commonVariables(7701),
    DROVER_IDENTITY_PRIVATE_KEY: env.secret(),
    SANDBOX_ADDRESS: env.list(),
    RAG_ADDRESS: env.list(),
    MEMORY_ADDRESS: env.list(),
    TRACE_ADDRESS: env.list(),
    OPENAI_BASE_URL: env.text({
      default: "https://api.openai.com/v1",
      pattern: /^https?:\/\/\S+$/,
      allowed: "an http or https URL",
    }),
    OPENAI_API_KEY: env.secret(),
    DROVER_MODEL: env.text({ default: "gpt-4.1-mini" }),
    DROVER_MODEL_RETRIES: env.integer({ min: 0, max: 10, default: 3 }),
    DROVER_MODEL_FIRST_BYTE_MS: env.milliseconds({ min: 100, max: 600_000, default: 60_000 }),
    DROVER_MODEL_TOTAL_MS: env.milliseconds({ min: 1_000, max: 3_600_000, default: 600_000 }),
    DROVER_MODEL_WINDOW_TOKENS: env.integer({ min: 4_096, max: 10_000_000, default: 128_000 }),
    DROVER_MODEL_OUTPUT_TOKENS: env.integer({ min: 256, max: 1_000_000, default: 4_096 }),
    DROVER_REPLICA: env
      .text({ pattern: /^[A-Za-z0-9._-]{1,64}$/, allowed: "1 to 64 letters, digits, ., _ or -" })
      .optional(),
    DROVER_WORKER_SLOTS: env.integer({ min: 1, max: 256, default: 4 }),
    DROVER_LEASE_TTL_MS: env.milliseconds({ min: 1_500, max: 600_000, default: 15_000 }),
    DROVER_CLAIM_POLL_MS: env.milliseconds({ min: 50, max: 60_000, default: 1_000 }),
    DROVER_TENANT_RUNNING: env.integer({ min: 1, max: 10_000, default: 4 }),
    DROVER_TENANT_QUEUED: env.integer({ min: 1, max: 1_000_000, default: 1_000 }),
    DROVER_DEAD_LETTER_CLAIMS: env.integer({ min: 1, max: 1_000, default: 5 }),
    DROVER_RETENTION_DAYS: env.integer({ min: 1, max: 36_500, default: 30 }),
    DROVER_CLEANUP_MS: env.milliseconds({ min: 100, max: 86_400_000, default: 3_600_000 }),
    DROVER_PURGE_POLL_MS: env.milliseconds({ min: 50, max: 600_000, default: 5_000 }),
    DROVER_PURGE_SETTLE_MS: env.milliseconds({ min: 0, max: 3_600_000, default: 15_000 }),
    DROVER_PURGE_RECEIPT_DAYS: env.integer({ min: 1, max: 36_500, default: 400 }),
    DROVER_AFTER_TASK_PARALLEL: env.integer({ min: 1, max: 64, default: 2 }),
    DROVER_AFTER_TASK_POLL_MS: env.milliseconds({ min: 50, max: 600_000, default: 2_000 }),
    DROVER_AFTER_TASK_TIMEOUT_MS: env.milliseconds({ min: 1_000, max: 3_600_000, default: 300_000 }),
    DROVER_AFTER_TASK_ATTEMPTS: env.integer({ min: 1, max: 100, default: 8 }),
    DROVER_AFTER_TASK_BACKOFF_MS: env.milliseconds({ min: 50, max: 600_000, default: 5_000 }),
    DROVER_MAX_WALL_MS: env.milliseconds({ min: 1_000, max: 604_800_000, default: 3_600_000 }),
    DROVER_MAX_TOKENS: env.integer({ min: 0, max: 1_000_000_000, default: 0 }),
    DROVER_MAX_COST_NANO_USD: env.integer({ min: 0, default: 0 }),
    DROVER_MAX_TOOL_CALLS: env.integer({ min: 0, max: 100_000, default: 0 }),
    DROVER_MAX_ROUNDS: env.integer({ min: 1, max: 50, default: 10 }),
    DROVER_PARALLEL_CALLS: env.integer({ min: 1, max: 64, default: 4 }),
    DROVER_CALLS_PER_TURN: env.integer({ min: 1, max: recordedCalls, default: 16 }),
    DROVER_PEER_PATIENCE_MS: env.milliseconds({ min: 0, max: 600_000, default: 60_000 }),
    DROVER_TOOL_PATIENCE_MS: env.milliseconds({ min: 0, max: 600_000, default: 20_000 }),
    DROVER_SPILL_THRESHOLD: env.integer({ min: 1_000, max: 1_000_000, default: 32_000 }),
    DROVER_SPILL_PREVIEW: env.integer({ min: 100, max: 100_000, default: 2_048 }),
    DROVER_VIEW_CAP: env.integer({ min: 8_000, max: 100_000, default: 8_000 }),
    DROVER_WATCH_POLL_MS: env.milliseconds({ min: 100, max: 60_000, default: 2_000 }),
    DROVER_APPROVAL_EXPIRY_MS: env.milliseconds({ min: 50, max: 600_000, default: 5_000 }),
    DROVER_WATCH_HEARTBEAT_MS: env.milliseconds({ min: 100, max: 300_000, default: 15_000 }),
    DROVER_CODE_LANGUAGES: env.list({ default: [] }),
    DROVER_TOOL_HOSTS: env.list().optional(),
    DROVER_TOOL_PRIVATE_HOSTS: env.list({ default: [] }),
    DROVER_TOOL_SECRETS: env.secret({ default: "{}" }),
    DROVER_TOOL_SECRETS_DIR: env.text().optional(),
    DROVER_TOOL_POLL_MS: env.milliseconds({ min: 50, max: 600_000, default: 5_000 }),
    DROVER_TOOL_LIST_MS: env.milliseconds({ min: 50, max: 60_000, default: 5_000 }),
    DROVER_TOOL_LIST_TTL_MS: env.milliseconds({ min: 50, max: 3_600_000, default: 30_000 }),
    DROVER_TOOL_DRAIN_MS: env.milliseconds({ min: 0, max: 3_600_000, default: 60_000 }),
    DROVER_TOOL_IDLE_MS: env.milliseconds({ min: 1_000, max: 86_400_000, default: 600_000 }),
    DROVER_TOOL_SCHEMA_TOKENS: env.integer({ min: 0, max: 1_000_000, default: 8_000 }),
  });
}

/** When dead letters are ended, and tasks forgotten. */
export function houseTimesOf(config: Config) {
  return {
    maxIdle: config.DROVER_DEAD_LETTER_CLAIMS,
    buryMs: config.DROVER_LEASE_TTL_MS,
    retentionDays: config.DROVER_RETENTION_DAYS,
    cleanupMs: config.DROVER_CLEANUP_MS,
  };
}

/** How what is due after tasks' ends is worked on. */
export function afterTaskTimesOf(config: Config) {
  return {
    parallel: config.DROVER_AFTER_TASK_PARALLEL,
    pollMs: config.DROVER_AFTER_TASK_POLL_MS,
    timeoutMs: config.DROVER_AFTER_TASK_TIMEOUT_MS,
    attempts: config.DROVER_AFTER_TASK_ATTEMPTS,
    backoffMs: config.DROVER_AFTER_TASK_BACKOFF_MS,
  };
}

/** How often what is done about approvals. */
export function decisionTimesOf(config: Config) {
  return {
    heartbeatMs: config.DROVER_WATCH_HEARTBEAT_MS,
    pollMs: config.DROVER_WATCH_POLL_MS,
    expiryMs: config.DROVER_APPROVAL_EXPIRY_MS,
  };
}

type Config = ReturnType<typeof readConfig>;

/** How the servers of tools are followed. */
export function toolServerTimesOf(config: Config) {
  return {
    pollMs: config.DROVER_TOOL_POLL_MS,
    listMs: config.DROVER_TOOL_LIST_MS,
    listTtlMs: config.DROVER_TOOL_LIST_TTL_MS,
    drainMs: config.DROVER_TOOL_DRAIN_MS,
    idleMs: config.DROVER_TOOL_IDLE_MS,
  };
}

/** Where servers of tools may be, and the secrets that their rows name. */
export function toolServerAccessOf(config: Config) {
  const hosts = config.DROVER_TOOL_HOSTS;
  return {
    rules: { ...(hosts === undefined ? {} : { allowHosts: hosts }), allowPrivate: config.DROVER_TOOL_PRIVATE_HOSTS },
    secrets: secretsOf(config.DROVER_TOOL_SECRETS),
    secretsDirectory: config.DROVER_TOOL_SECRETS_DIR,
  };
}

/** Where the other services are. */
export function peerAddressesOf(config: Config) {
  const { SANDBOX_ADDRESS: sandbox, RAG_ADDRESS: rag, MEMORY_ADDRESS: memory, TRACE_ADDRESS: trace } = config;
  return { sandbox, rag, memory, trace };
}

/** How removals are worked on. */
export function purgeTimesOf(config: Config) {
  return {
    leaseTtlMs: config.DROVER_LEASE_TTL_MS,
    pollMs: config.DROVER_PURGE_POLL_MS,
    settleMs: config.DROVER_PURGE_SETTLE_MS,
    receiptDays: config.DROVER_PURGE_RECEIPT_DAYS,
  };
}

/** Where the model is and how patiently it is asked. */
export function modelEndpointOf(config: Config) {
  return {
    baseUrl: config.OPENAI_BASE_URL,
    apiKey: config.OPENAI_API_KEY,
    model: config.DROVER_MODEL,
    maxRetries: config.DROVER_MODEL_RETRIES,
    firstByteTimeoutMs: config.DROVER_MODEL_FIRST_BYTE_MS,
    totalTimeoutMs: config.DROVER_MODEL_TOTAL_MS,
  };
}

/** The bounds of the loop. */
export function loopLimitsOf(config: Config) {
  return {
    view: {
      spillThreshold: config.DROVER_SPILL_THRESHOLD,
      preview: config.DROVER_SPILL_PREVIEW,
      viewCap: config.DROVER_VIEW_CAP,
    },
    patienceMs: config.DROVER_PEER_PATIENCE_MS,
    toolPatienceMs: config.DROVER_TOOL_PATIENCE_MS,
    parallel: config.DROVER_PARALLEL_CALLS,
    maxCalls: config.DROVER_CALLS_PER_TURN,
    maxOutputTokens: config.DROVER_MODEL_OUTPUT_TOKENS,
  };
}

/** What a context is measured by. */
export function contextLimitsOf(config: Config) {
  return {
    windowTokens: config.DROVER_MODEL_WINDOW_TOKENS,
    reservedOutputTokens: config.DROVER_MODEL_OUTPUT_TOKENS,
  };
}

/** How the worker of the replica `name` works. */
export function workerOptionsOf(config: Config, name: string) {
  return {
    name,
    slots: config.DROVER_WORKER_SLOTS,
    leaseTtlMs: config.DROVER_LEASE_TTL_MS,
    perTenant: config.DROVER_TENANT_RUNNING,
    maxIdle: config.DROVER_DEAD_LETTER_CLAIMS,
    pollMs: config.DROVER_CLAIM_POLL_MS,
    graceMs: config.DROVER_SHUTDOWN_GRACE_MS / 2,
  };
}

/** What a submission that does not say otherwise may use up, and how many may wait. */
export function submissionDefaultsOf(config: Config) {
  return {
    model: config.DROVER_MODEL,
    maxRounds: config.DROVER_MAX_ROUNDS,
    collection: "default",
    maxQueued: config.DROVER_TENANT_QUEUED,
    budgets: {
      wallMs: config.DROVER_MAX_WALL_MS,
      tokens: config.DROVER_MAX_TOKENS,
      costNanoUsd: config.DROVER_MAX_COST_NANO_USD,
      toolCalls: config.DROVER_MAX_TOOL_CALLS,
      outputTokens: config.DROVER_MODEL_OUTPUT_TOKENS,
    },
  };
}

type ToolSecrets = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** Secrets by tenant and name. Throws ConfigurationError, which shows none, for what is no such JSON. */
function secretsOf(text: string): ToolSecrets {
  const isRecord = (value: unknown): value is Record<string, unknown> =>
    typeof value === "object" && value !== null && !Array.isArray(value);
  try {
    const parsed: unknown = JSON.parse(text);
    const sound = (one: unknown) => isRecord(one) && Object.values(one).every((value) => typeof value === "string");
    if (isRecord(parsed) && Object.values(parsed).every(sound)) return parsed as ToolSecrets;
  } catch {
    // Told below.
  }
  const problem = 'allowed: JSON of texts by tenant and name, e.g. {"acme": {"ORDERS_TOKEN": "..."}}';
  throw new ConfigurationError([{ variable: "DROVER_TOOL_SECRETS", problem }]);
}
