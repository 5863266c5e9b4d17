import type { ContainerRequest } from "../application/ports.ts";
import type { IsolationLevel } from "../domain/isolation.ts";
import type { Language } from "../domain/language.ts";
import type { LimitPolicy } from "../domain/limits.ts";
import { containerSpec } from "./docker/container-spec.ts";
import { podSpec } from "./kubernetes/pod-spec.ts";
import { sha256 } from "./sha256.ts";

/** A backend, and how it was told to confine. */
export interface Confinement {
  readonly backend: "docker" | "kubernetes" | "local";
  /** The runtime, or RuntimeClass, by its name; empty for the engine's default. */
  readonly runtime: string;
  /** The level that is proven before anything runs. */
  readonly level: IsolationLevel;
}

const length = 16;

/**
 * Names what confines a run: limits, languages, the level proven, and what the backend in use starts, taken from the
 * code that makes it (nothing on the local host). Two services that answer with the same version confine alike.
 */
export function policyVersion(
  policy: LimitPolicy,
  languages: readonly Language[],
  { backend, runtime, level }: Confinement,
): string {
  const request = { runId: "", taskId: "", tenant: "", image: "", lifetimeMs: 0, limits: policy.defaults };
  const started = startedBy[backend](request, runtime);
  return sha256(JSON.stringify({ policy, languages, backend, level, started })).slice(0, length);
}

const nobody = { owner: "", expiresAtMs: 0 };
const startedBy = {
  docker: (request: ContainerRequest, runtime: string) => containerSpec(request, { ...nobody, runtime }),
  kubernetes: (request: ContainerRequest, runtimeClass: string) => podSpec(request, { ...nobody, runtimeClass }),
  local: () => undefined,
};
