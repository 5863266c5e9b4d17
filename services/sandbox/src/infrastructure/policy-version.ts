import type { Language } from "../domain/language.ts";
import type { LimitPolicy } from "../domain/limits.ts";
import { containerSpec } from "./docker/container-spec.ts";
import { sha256 } from "./sha256.ts";

const length = 16;

/**
 * Names what confines a run: limits, languages and the container's specification, which is taken from
 * the code that makes it. Two services that answer with the same version confine alike.
 */
export function policyVersion(policy: LimitPolicy, languages: readonly Language[], runtime: string): string {
  const nobody = { runId: "", taskId: "", tenant: "", image: "", lifetimeMs: 0 };
  const spec = containerSpec({ ...nobody, limits: policy.defaults }, { owner: "", runtime, expiresAtMs: 0 });
  return sha256(JSON.stringify({ policy, languages, spec })).slice(0, length);
}
