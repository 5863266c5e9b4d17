import { resolve } from "node:path";
import { commonVariables, type Environment, env, parseEnvironment } from "@drover/runtime";

/** The gateway's configuration; the README says what each variable means. */
export type GatewayConfig = ReturnType<typeof readConfig>;

const ports = { orchestrator: 7701, sandbox: 7702, rag: 7703, memory: 7704, trace: 7705 } as const;

const peer = (service: keyof typeof ports) => env.list({ default: [`127.0.0.1:${ports[service]}`] });

/** Reads the environment. Throws a ConfigurationError that lists every fault. */
export function readConfig(environment: Environment) {
  // The gateway has no bus and verifies no token, so it needs none of those two variables.
  const { NATS_URL: _bus, DROVER_IDENTITY_PUBLIC_KEYS: _keys, ...common } = commonVariables(7700);
  return parseEnvironment(environment, {
    ...common,
    DROVER_IDENTITY_PRIVATE_KEY: env.secret(),
    ORCHESTRATOR_ADDRESS: peer("orchestrator"),
    SANDBOX_ADDRESS: peer("sandbox"),
    RAG_ADDRESS: peer("rag"),
    MEMORY_ADDRESS: peer("memory"),
    TRACE_ADDRESS: peer("trace"),
    DROVER_KEY_PEPPER: env.secret().optional(),
    DROVER_BOOTSTRAP_KEY: env.secret().optional(),
    DROVER_FIRST_KEY_FILE: env.text().optional(),
    DROVER_KEY_CACHE_MS: env.milliseconds({ min: 0, max: 300_000, default: 5000 }),
    DROVER_KEY_STALE_MS: env.milliseconds({ min: 0, max: 3_600_000, default: 60_000 }),
    DROVER_SESSION_TTL_MS: env.milliseconds({ min: 60_000, max: 30 * 86_400_000, default: 12 * 3_600_000 }),
    DROVER_SESSION_SECURE: env.flag({ default: false }),
    DROVER_ALLOWED_ORIGINS: env.list({ default: [] }),
    DROVER_VIEWER_DIR: env.text({ default: resolve(import.meta.dirname, "../../../viewer/dist") }),
    DROVER_MAX_UNARY_MS: env.milliseconds({ min: 1000, max: 3_600_000, default: 300_000 }),
    DROVER_MAX_STREAM_MS: env.milliseconds({ min: 1000, max: 7 * 86_400_000, default: 86_400_000 }),
    DROVER_SSE_HEARTBEAT_MS: env.milliseconds({ min: 100, max: 15_000, default: 10_000 }),
    DROVER_SSE_STALL_MS: env.milliseconds({ min: 100, max: 600_000, default: 30_000 }),
    DROVER_MAX_CONNECTIONS: env.integer({ min: 1, max: 100_000, default: 10_000 }),
    DROVER_MAX_STREAMS_PER_CONNECTION: env.integer({ min: 1, max: 10_000, default: 100 }),
    DROVER_MAX_HEADER_BYTES: env.bytes({ min: 1024, max: 1024 ** 2, default: 16 * 1024 }),
    DROVER_FIRST_BYTE_MS: env.milliseconds({ min: 50, max: 600_000, default: 5000 }),
    DROVER_HEADERS_MS: env.milliseconds({ min: 50, max: 600_000, default: 10_000 }),
    DROVER_REQUEST_MS: env.milliseconds({ min: 1000, max: 3_600_000, default: 300_000 }),
    DROVER_IDLE_MS: env.milliseconds({ min: 1000, max: 86_400_000, default: 600_000 }),
    DROVER_RESET_BURST: env.integer({ min: 10, max: 100_000, default: 1000 }),
    DROVER_RESETS_PER_SECOND: env.integer({ min: 1, max: 10_000, default: 33 }),
  });
}

/** The part of the configuration that shapes the port and what it answers. */
export function edgeSettings(config: GatewayConfig) {
  return {
    listen: config.DROVER_LISTEN,
    maxMessageBytes: config.DROVER_MAX_MESSAGE_BYTES,
    graceMs: config.DROVER_SHUTDOWN_GRACE_MS,
    secureCookie: config.DROVER_SESSION_SECURE,
    sse: { heartbeatMs: config.DROVER_SSE_HEARTBEAT_MS, stallMs: config.DROVER_SSE_STALL_MS },
    limits: {
      unaryMs: config.DROVER_MAX_UNARY_MS,
      streamMs: config.DROVER_MAX_STREAM_MS,
      maxConnections: config.DROVER_MAX_CONNECTIONS,
      maxStreamsPerConnection: config.DROVER_MAX_STREAMS_PER_CONNECTION,
      maxHeaderBytes: config.DROVER_MAX_HEADER_BYTES,
      firstByteMs: config.DROVER_FIRST_BYTE_MS,
      headersMs: config.DROVER_HEADERS_MS,
      requestMs: config.DROVER_REQUEST_MS,
      idleMs: config.DROVER_IDLE_MS,
      resetBurst: config.DROVER_RESET_BURST,
      resetsPerSecond: config.DROVER_RESETS_PER_SECOND,
    },
  };
}
