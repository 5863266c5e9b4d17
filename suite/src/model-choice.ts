import type { Environment } from "@drover/runtime";
import { SuiteFailure } from "./failure.ts";

/**
 * True where the environment names a model endpoint; without one the scripted model is used. Throws
 * {@link SuiteFailure} for an endpoint without a key: it is more likely forgotten than meant.
 */
export function hasModelEndpoint(environment: Environment): boolean {
  if (!environment.OPENAI_BASE_URL) return false;
  if (environment.OPENAI_API_KEY) return true;
  throw new SuiteFailure(
    "OPENAI_BASE_URL is set, but OPENAI_API_KEY is not.",
    "Set it too (to any word where the endpoint wants none), or neither for the scripted model.",
  );
}
