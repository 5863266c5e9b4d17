import type { Clock } from "@drover/kernel";
import { GuardedBackend } from "./application/guarded-backend.ts";
import type { Log } from "./application/ports.ts";
import type { readConfig } from "./config.ts";
import type { Limits } from "./domain/limits.ts";
import { DockerEngine } from "./infrastructure/docker/docker-engine.ts";

/** What a backend is opened with besides the configuration. */
export interface BackendParts {
  /** This instance; see `instanceOf`. */
  readonly owner: string;
  /** Images by language. */
  readonly images: ReadonlyMap<string, string>;
  readonly limits: Limits;
  readonly clock: Clock;
  readonly log: Log;
}

/** The configured backend behind its isolation level; the self-test begins at once and nothing waits for it but runs. */
export function openBackend(config: ReturnType<typeof readConfig>, parts: BackendParts): GuardedBackend {
  const { owner, images, limits, clock, log } = parts;
  const level = config.DROVER_SANDBOX_ISOLATION;
  const runtime = config.DROVER_SANDBOX_RUNTIME;
  const backend = new DockerEngine({ host: config.DOCKER_HOST, owner, runtime, images: [...images.values()] });
  if (level === "none") log.warn({ backend: backend.name }, "UNSAFE: programs run without a proven isolation level");
  const guarded = new GuardedBackend({ backend, level, image: images.get("bash") ?? "", limits, clock, log });
  // Without an engine there is nothing to prove; the first run tries again.
  guarded.prove().catch(() => undefined);
  return guarded;
}
