import { expect, test } from "vitest";
import { readEvaluation } from "./read-evaluation.ts";

const good = `name: small
description: One line.
model: echo
task:
  prompt: Say it
  budgets: { maxToolCalls: 3 }
expect:
  state: SUCCEEDED
`;
const faultsOf = (text: string) => {
  try {
    readEvaluation("cases/small.yaml", text, ["echo"]);
    return [];
  } catch (error) {
    return error instanceof Error ? error.message.split("\n") : [];
  }
};

test("a file becomes an evaluation with its messages read", () => {
  const evaluation = readEvaluation("cases/small.yaml", good, ["echo"]);
  expect(evaluation).toMatchObject({ name: "small", files: {}, policies: [], expect: { state: "SUCCEEDED" } });
  expect(evaluation.task.budgets?.maxToolCalls).toBe(3);
});

test.each([
  ["no YAML", "name: [", /^cases\/small\.yaml:1: /],
  [
    "an unknown field",
    good.replace("state: SUCCEEDED", "state: SUCCEEDED\n  stat: 1"),
    /^cases\/small\.yaml:9: .*\(stat\)/,
  ],
  ["a wrong value", good.replace("SUCCEEDED", "DONE"), /^cases\/small\.yaml:8: expect\.state .*SUCCEEDED, FAILED/],
  ["a missing field", good.replace("  prompt: Say it\n", ""), /^cases\/small\.yaml:5: task .*prompt/],
  ["an unknown model", good.replace("echo", "nobody"), /^cases\/small\.yaml:3: found nobody, allowed echo/],
  ["a task that is no request", good.replace("maxToolCalls", "maxCalls"), /^cases\/small\.yaml:5: task: .*maxCalls/],
  ["the same key twice", `${good}name: again\n`, /^cases\/small\.yaml:9: /],
])("%s is told with file and line", (_, text, expected) => expect(faultsOf(text)[0]).toMatch(expected));

test("every fault is told at once", () => {
  expect(faultsOf(good.replace("SUCCEEDED", "DONE").replace("name: small", "name: No Name"))).toHaveLength(2);
});
