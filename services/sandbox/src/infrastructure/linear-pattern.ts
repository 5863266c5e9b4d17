import { RE2JS } from "re2js";
import type { PatternCompiler } from "../application/ports.ts";

/** RE2's syntax and its promise: matching is linear in the line for every pattern. */
export const linearPattern: PatternCompiler = (pattern, ignoreCase) => {
  const compiled = RE2JS.compile(pattern, ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
  return (line) => compiled.matcher(line).find();
};
