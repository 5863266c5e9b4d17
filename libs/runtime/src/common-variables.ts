import type { Variable } from "./environment.ts";
import { env } from "./variables.ts";

/**
 * The variables that every service has, to be spread into its own specification. `port` is the
 * service's gRPC port; the admin server stands 100 above it. Private keys, peers and the model are
 * not here: only some services have them.
 */
export function commonVariables(port: number) {
  return {
    DROVER_LISTEN: env.address({ default: `127.0.0.1:${port}` }),
    DROVER_ADMIN_LISTEN: env.address({ default: `127.0.0.1:${port + 100}` }),
    DROVER_LOG_LEVEL: env.choice(["debug", "info", "warn", "error", "silent"], { default: "info" }),
    DATABASE_URL: env.secret(),
    DATABASE_POOL_MAX: env.integer({ min: 1, max: 200, default: 8 }),
    NATS_URL: env.secret().optional(),
    DROVER_IDENTITY_PUBLIC_KEYS: env.secret(),
    DROVER_SHUTDOWN_GRACE_MS: env.milliseconds({ min: 0, max: 600_000, default: 20_000 }),
    DROVER_MAX_MESSAGE_BYTES: env.bytes({ min: 1024, max: 64 * 1024 ** 2, default: 4 * 1024 ** 2 }),
  } as const satisfies Record<string, Variable<unknown>>;
}
