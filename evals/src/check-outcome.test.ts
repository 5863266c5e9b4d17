import { create } from "@bufbuild/protobuf";
import { SubmitTaskRequestSchema } from "@drover/proto/orchestrator/v1/task_service";
import { expect, test } from "vitest";
import { checkOutcome, type Outcome } from "./check-outcome.ts";
import type { Expectation } from "./evaluation.ts";

const outcome: Outcome = {
  ...{ state: "SUCCEEDED", failureReason: "", failureMessage: "", answer: "42 EUR", rounds: 2, tokens: 100 },
  ...{ toolCalls: 1, reworks: 1, files: { "a.txt": "text" }, findings: ["NOT_JSON"], notices: [] },
  calls: [{ tool: "bash", arguments: '{"command":"ls"}', state: "SUCCEEDED" }],
};
const faults = (expectation: Partial<Expectation>) =>
  checkOutcome(
    {
      ...{ name: "n", description: "d", model: "m", files: {}, documents: {}, agent: undefined, policies: [] },
      ...{ task: create(SubmitTaskRequestSchema), decisions: [] },
      expect: { state: "SUCCEEDED", ...expectation },
    },
    outcome,
  ).length;

test.each<[string, Partial<Expectation>, Partial<Expectation>]>([
  ["state", {}, { state: "FAILED" }],
  ["failure reason", { failure_reason: "" }, { failure_reason: "X" }],
  ["answer", { answer: { contains: ["42"], excludes: ["USD"] } }, { answer: { excludes: ["EUR"] } }],
  ["made", { made: [{ tool: "bash", arguments: "ls" }] }, { made: [{ tool: "bash", state: "FAILED" }] }],
  ["forbidden", { forbidden: [{ tool: "bash", arguments: "rm" }] }, { forbidden: [{ tool: "bash" }] }],
  ["file", { files: { "a.txt": { equals: "text" } } }, { files: { "a.txt": { absent: true } } }],
  ["absent file", { files: { "b.txt": { absent: true } } }, { files: { "b.txt": { contains: ["x"] } } }],
  ["findings", { findings: ["NOT_JSON"] }, { findings: ["CUT_ANSWER"] }],
  ["notices", {}, { notices: ["BUDGET_EXHAUSTED"] }],
  ["reworks", { reworks: 1 }, { reworks: 0 }],
  ["budget", { most: { rounds: 2, tool_calls: 1, tokens: 100 } }, { most: { tokens: 99 } }],
])("%s: what holds passes, what does not is one fault", (_, holds, fails) => {
  expect([faults(holds), faults(fails)]).toEqual([0, 1]);
});
