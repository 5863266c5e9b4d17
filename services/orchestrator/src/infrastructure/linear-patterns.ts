import { RE2JS } from "re2js";
import type { LinearPatterns } from "../application/decision-ports.ts";

/** Compiled patterns that are kept; more begin anew. */
const kept = 2_000;

/** RE2's syntax and its promise: matching is linear in the text for every pattern. */
export function createLinearPatterns(): LinearPatterns {
  const compiled = new Map<string, RE2JS>();
  const compile = (pattern: string) => {
    const known = compiled.get(pattern);
    if (known !== undefined) return known;
    if (compiled.size >= kept) compiled.clear();
    const made = RE2JS.compile(pattern);
    compiled.set(pattern, made);
    return made;
  };
  return {
    fault(pattern) {
      try {
        compile(pattern);
        return undefined;
      } catch (error) {
        return error instanceof Error ? error.message : "an unreadable pattern";
      }
    },
    matches(pattern, text) {
      try {
        return compile(pattern).matcher(text).find();
      } catch {
        return false;
      }
    },
  };
}
