import { commonVariables, type Environment, env, parseEnvironment } from "@drover/runtime";
import type { FusionWeights } from "./domain/fusion.ts";
import type { ChunkSizes } from "./domain/splitter.ts";

const variables = {
  ...commonVariables(7703),
  EMBEDDING_MODEL: env.text().optional(),
  EMBEDDING_DIMENSIONS: env.integer({ min: 8, max: 16_000, default: 1536 }),
  OPENAI_BASE_URL: env.text({ default: "https://api.openai.com/v1" }),
  OPENAI_API_KEY: env.secret({ default: "" }),
  RAG_MAX_DOCUMENT_BYTES: env.bytes({ min: 1, max: 512 * 1024 ** 2, default: 50 * 1024 ** 2 }),
  RAG_MAX_UPLOADING_BYTES: env.bytes({ min: 1, default: 200 * 1024 ** 2 }),
  RAG_MAX_CHUNKS: env.integer({ min: 1, max: 1_000_000, default: 50_000 }),
  RAG_CHUNK_TARGET_TOKENS: env.integer({ min: 16, max: 8000, default: 400 }),
  RAG_CHUNK_LIMIT_TOKENS: env.integer({ min: 256, max: 8000, default: 800 }),
  RAG_SPLIT_TIMEOUT_MS: env.milliseconds({ min: 100, default: 120_000 }),
  RAG_SPLIT_MEMORY_MB: env.integer({ min: 64, max: 65_536, default: 2048 }),
  RAG_QUERY_EMBEDDING_TIMEOUT_MS: env.milliseconds({ min: 1, max: 60_000, default: 3000 }),
  RAG_LEXICAL_WEIGHT_PERCENT: env.integer({ min: 0, max: 1000, default: 100 }),
  RAG_VECTOR_WEIGHT_PERCENT: env.integer({ min: 0, max: 1000 }).optional(),
} as const;

/** How the embedding model is reached; without one the built-in hash embedder serves. */
interface EmbeddingEndpoint {
  readonly model: string;
  readonly dimensions: number;
  readonly baseUrl: string;
  readonly apiKey: string;
}

/** The configuration of the service; see README.md for what each variable means. */
export interface RagConfig {
  readonly listen: string;
  readonly adminListen: string;
  readonly logLevel: "debug" | "info" | "warn" | "error" | "silent";
  readonly databaseUrl: string;
  readonly databasePoolMax: number;
  readonly natsUrl: string | undefined;
  readonly identityPublicKeys: string;
  readonly shutdownGraceMs: number;
  readonly maxMessageBytes: number;
  readonly embedding: EmbeddingEndpoint | undefined;
  readonly upload: { readonly maxBytes: number; readonly maxBufferedBytes: number };
  readonly maxChunks: number;
  readonly split: { readonly sizes: ChunkSizes; readonly timeoutMs: number; readonly memoryMb: number };
  readonly embeddingTimeoutMs: number;
  readonly weights: FusionWeights;
}

/**
 * Weights of the vector leg. At 1 % it changes no order that the words give and adds passages where they
 * give few; README.md has the figures of hashed n-grams at 25 %, which rank worse than words alone.
 */
const vectorPercent = { hash: 1, model: 100 } as const;

/** Reads the environment; throws a ConfigurationError that lists every fault. */
export function readConfig(environment: Environment): RagConfig {
  const read = parseEnvironment(environment, variables);
  const model = read.EMBEDDING_MODEL;
  const percent = read.RAG_VECTOR_WEIGHT_PERCENT ?? (model === undefined ? vectorPercent.hash : vectorPercent.model);
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
    embedding:
      model === undefined
        ? undefined
        : {
            model,
            dimensions: read.EMBEDDING_DIMENSIONS,
            baseUrl: read.OPENAI_BASE_URL,
            apiKey: read.OPENAI_API_KEY,
          },
    upload: { maxBytes: read.RAG_MAX_DOCUMENT_BYTES, maxBufferedBytes: read.RAG_MAX_UPLOADING_BYTES },
    maxChunks: read.RAG_MAX_CHUNKS,
    split: {
      sizes: { target: read.RAG_CHUNK_TARGET_TOKENS, limit: read.RAG_CHUNK_LIMIT_TOKENS },
      timeoutMs: read.RAG_SPLIT_TIMEOUT_MS,
      memoryMb: read.RAG_SPLIT_MEMORY_MB,
    },
    embeddingTimeoutMs: read.RAG_QUERY_EMBEDDING_TIMEOUT_MS,
    weights: { lexical: read.RAG_LEXICAL_WEIGHT_PERCENT / 100, vector: percent / 100 },
  });
}
