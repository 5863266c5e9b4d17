import { commonVariables, type Environment, env, parseEnvironment } from "@drover/runtime";
import type { ContextDefaults } from "./application/build-context.ts";
import type { SpillLimits } from "./application/put-spill.ts";
import type { ExtractionEndpoint } from "./infrastructure/extraction-model.ts";
import type { FactLimits } from "./infrastructure/fact-store.ts";

const variables = {
  ...commonVariables(7704),
  MEMORY_SPILL_THRESHOLD_CHARACTERS: env.integer({ min: 1, max: 2_000_000, default: 32_000 }),
  MEMORY_PREVIEW_CHARACTERS: env.integer({ min: 1, max: 32_000, default: 2048 }),
  MEMORY_VIEW_CHARACTERS: env.integer({ min: 1, max: 500_000, default: 8000 }),
  MEMORY_MAX_SPILL_BYTES: env.bytes({ min: 1, max: 512 * 1024 ** 2, default: 64 * 1024 ** 2 }),
  MEMORY_MAX_RECEIVING_BYTES: env.bytes({ min: 1, default: 256 * 1024 ** 2 }),
  MEMORY_WINDOW_TOKENS: env.integer({ min: 1000, max: 100_000_000, default: 128_000 }),
  MEMORY_RESERVED_OUTPUT_TOKENS: env.integer({ min: 0, max: 10_000_000, default: 8000 }),
  MEMORY_SAFETY_MARGIN_TOKENS: env.integer({ min: 0, max: 10_000_000, default: 3000 }),
  MEMORY_EXTRACTION: env.flag({ default: true }),
  OPENAI_BASE_URL: env.text({
    default: "https://api.openai.com/v1",
    pattern: /^https?:\/\/\S+$/,
    allowed: "an http or https URL",
  }),
  OPENAI_API_KEY: env.secret({ default: "" }),
  DROVER_MODEL: env.text({ default: "gpt-4.1-mini" }),
  MEMORY_MODEL: env.text().optional(),
  MEMORY_MODEL_RETRIES: env.integer({ min: 0, max: 10, default: 1 }),
  MEMORY_MODEL_FIRST_BYTE_MS: env.milliseconds({ min: 100, max: 600_000, default: 60_000 }),
  MEMORY_MODEL_TOTAL_MS: env.milliseconds({ min: 1_000, max: 600_000, default: 120_000 }),
  MEMORY_FACTS_PER_SCOPE: env.integer({ min: 1, max: 10_000, default: 200 }),
  MEMORY_IMPORTANCE_FLOOR: env.integer({ min: 0, max: 100, default: 30 }),
} as const;

/** The configuration of the service; see README.md for what each variable means. */
export interface MemoryConfig {
  readonly listen: string;
  readonly adminListen: string;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
  readonly databaseUrl: string;
  readonly databasePoolMax: number;
  readonly natsUrl: string | undefined;
  readonly identityPublicKeys: string;
  readonly shutdownGraceMs: number;
  readonly maxMessageBytes: number;
  readonly spillThresholdCharacters: number;
  readonly viewCharacters: number;
  readonly spill: SpillLimits;
  readonly context: ContextDefaults;
  /** Undefined: no model is configured, and no facts are extracted. */
  readonly extraction: ExtractionEndpoint | undefined;
  readonly facts: FactLimits;
}

/** Reads the environment; throws a ConfigurationError that lists every fault. */
export function readConfig(environment: Environment): MemoryConfig {
  const read = parseEnvironment(environment, variables);
  const previewCharacters = read.MEMORY_PREVIEW_CHARACTERS;
  return Object.freeze({
    listen: read.DROVER_LISTEN,
    adminListen: read.DROVER_ADMIN_LISTEN,
    logLevel: read.DROVER_LOG_LEVEL,
    databaseUrl: read.DATABASE_URL,
    databasePoolMax: read.DATABASE_POOL_MAX,
    natsUrl: read.NATS_URL,
    identityPublicKeys: read.DROVER_IDENTITY_PUBLIC_KEYS,
    shutdownGraceMs: read.DROVER_SHUTDOWN_GRACE_MS,
    maxMessageBytes: read.DROVER_MAX_MESSAGE_BYTES,
    spillThresholdCharacters: read.MEMORY_SPILL_THRESHOLD_CHARACTERS,
    viewCharacters: read.MEMORY_VIEW_CHARACTERS,
    spill: {
      maxBytes: read.MEMORY_MAX_SPILL_BYTES,
      maxBufferedBytes: read.MEMORY_MAX_RECEIVING_BYTES,
      previewCharacters,
    },
    context: {
      windowTokens: read.MEMORY_WINDOW_TOKENS,
      reservedOutputTokens: read.MEMORY_RESERVED_OUTPUT_TOKENS,
      safetyMarginTokens: read.MEMORY_SAFETY_MARGIN_TOKENS,
      previewCharacters,
    },
    extraction:
      read.OPENAI_API_KEY === "" || !read.MEMORY_EXTRACTION
        ? undefined
        : {
            baseUrl: read.OPENAI_BASE_URL,
            apiKey: read.OPENAI_API_KEY,
            model: read.MEMORY_MODEL ?? read.DROVER_MODEL,
            maxRetries: read.MEMORY_MODEL_RETRIES,
            firstByteTimeoutMs: read.MEMORY_MODEL_FIRST_BYTE_MS,
            totalTimeoutMs: read.MEMORY_MODEL_TOTAL_MS,
          },
    facts: { perPlace: read.MEMORY_FACTS_PER_SCOPE, importanceFloor: read.MEMORY_IMPORTANCE_FLOOR },
  });
}
