import { type Clock, DroverError } from "@drover/kernel";
import { limitsInForce } from "../domain/capability.ts";
import type { LimitPolicy } from "../domain/limits.ts";
import type { ExecBackend, Log, PoolMetrics } from "./ports.ts";
import { lifetimeMarginMs } from "./run-driver.ts";
import { WarmPool } from "./warm-pool.ts";
import type { ShelfSize } from "./warm-shelf.ts";

/** What the environment says of the pool; README.md says what each variable means. */
export interface PoolConfig {
  readonly DROVER_SANDBOX_POOL_MIN?: string | undefined;
  readonly DROVER_SANDBOX_POOL_MAX: number;
  readonly DROVER_SANDBOX_POOL_IDLE_MS: number;
}

/** What the pool stands between. */
export interface PoolSurroundings {
  readonly owner: string;
  /** Images of the languages by their names. */
  readonly images: ReadonlyMap<string, string>;
  readonly policy: LimitPolicy;
  readonly clock: Clock;
  readonly log: Log;
  readonly metrics: PoolMetrics;
}

/** Containers do not wait longer than this, so that what an expiry label says is never far away. */
const maxAgeMs = 30 * 60_000;

/** Puts a warm pool in front of an engine. FAILED_PRECONDITION where the minimum names an unknown language. */
export function openPool(config: PoolConfig, engine: ExecBackend, parts: PoolSurroundings): WarmPool {
  const { owner, policy, clock, log, metrics } = parts;
  return new WarmPool({
    engine,
    owner,
    clock,
    log,
    metrics,
    sizes: sizesOf(config, parts.images),
    times: { idleMs: config.DROVER_SANDBOX_POOL_IDLE_MS, maxAgeMs },
    // As runs have them: a limit that the engine cannot keep is none.
    defaults: limitsInForce(policy.defaults, engine.capabilities),
    lifetimeMs: policy.caps.compileMs + policy.caps.wallMs + lifetimeMarginMs,
  });
}

function sizesOf(config: PoolConfig, images: ReadonlyMap<string, string>): ReadonlyMap<string, ShelfSize> {
  const max = config.DROVER_SANDBOX_POOL_MAX;
  const sizes = new Map([...images.values()].map((image) => [image, { min: 0, max }]));
  for (const item of config.DROVER_SANDBOX_POOL_MIN?.split(",") ?? []) {
    const [language = "", count] = item.split("=");
    const image = images.get(language);
    if (image === undefined) {
      const message = `DROVER_SANDBOX_POOL_MIN names ${language}; allowed: ${[...images.keys()].join(", ")}.`;
      throw new DroverError("FAILED_PRECONDITION", message);
    }
    sizes.set(image, { min: Math.min(Number(count), max), max });
  }
  return sizes;
}
