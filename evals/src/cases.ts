import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { policies } from "../policies/index.ts";
import type { Evaluation } from "./evaluation.ts";
import { readEvaluation } from "./read-evaluation.ts";

const folder = join(import.meta.dirname, "../cases");

/** Every evaluation of `cases/`, by file name. Throws where one cannot be read, with file and line. */
export function readCases(): readonly Evaluation[] {
  const files = readdirSync(folder)
    .filter((name) => name.endsWith(".yaml"))
    .sort();
  return files.map((name) =>
    readEvaluation(`evals/cases/${name}`, readFileSync(join(folder, name), "utf8"), Object.keys(policies)),
  );
}
