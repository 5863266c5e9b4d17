import { afterAll, beforeAll, expect, test } from "vitest";
import { policies } from "./policies/index.ts";
import { readCases } from "./src/cases.ts";
import { checkOutcome } from "./src/check-outcome.ts";
import { runEvaluation } from "./src/run-evaluation.ts";
import { startTarget } from "./src/start-target.ts";

let target: Awaited<ReturnType<typeof startTarget>>;
beforeAll(async () => {
  target = await startTarget();
});
afterAll(async () => await target?.[Symbol.asyncDispose]());

const cases = readCases();

test("there are evaluations, each under a name of its own", () => {
  expect(cases.length).toBeGreaterThanOrEqual(10);
  expect(new Set(cases.map(({ name }) => name)).size).toBe(cases.length);
});

test.each(cases)("$name", async (evaluation) => {
  target.model.use(policies[evaluation.model] ?? (() => ({})));
  const outcome = await runEvaluation(target, evaluation);
  expect({ faults: checkOutcome(evaluation, outcome), calls: outcome.calls }).toEqual({
    faults: [],
    calls: outcome.calls,
  });
});
