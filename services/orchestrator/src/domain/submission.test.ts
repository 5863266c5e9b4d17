import { DroverError } from "@drover/kernel";
import { expect, test } from "vitest";
import { checkCancelReason, checkSubmission, checkTaskId, type Submission } from "./submission.ts";

const good: Submission = {
  requestId: "r1",
  prompt: "Find the stuck order",
  mode: "REACT",
  conversationId: "",
  workspaceId: "",
  maxRounds: 0,
  model: "",
  collection: "",
  agent: "",
  priority: 0,
  budgets: { rounds: 0, wallMs: 0, tokens: 0, costNanoUsd: 0, toolCalls: 0, outputTokens: 0 },
  conversationPolicy: "QUEUE",
};

function fieldsOf(work: () => void): string[] {
  try {
    work();
  } catch (error) {
    expect(error).toBeInstanceOf(DroverError);
    const fault = error as DroverError;
    expect(fault.code).toBe("INVALID_ARGUMENT");
    return fault.violations.map((v) => v.field);
  }
  return [];
}

test("a good submission passes, at its limits too", () => {
  expect(fieldsOf(() => checkSubmission(good))).toEqual([]);
  expect(fieldsOf(() => checkSubmission({ ...good, prompt: "x".repeat(100_000), maxRounds: 50 }))).toEqual([]);
});

test.each([
  ["prompt", { prompt: "" }],
  ["prompt", { prompt: " \n" }],
  ["prompt", { prompt: "x".repeat(100_001) }],
  ["agent", { agent: "no spaces" }],
  ["priority", { priority: 11 }],
  ["priority", { priority: -11 }],
  ["budgets.max_tokens", { budgets: { ...good.budgets, tokens: -1 } }],
  ["budgets.max_rounds", { budgets: { ...good.budgets, rounds: 51 } }],
  ["budgets.max_cost_nano_usd", { budgets: { ...good.budgets, costNanoUsd: 1e16 } }],
  ["conversation_policy", { conversationPolicy: 9 }],
  ["mode", { mode: 99 }],
  ["mode", { mode: "PSE" as const }],
  ["max_rounds", { maxRounds: -1 }],
  ["max_rounds", { maxRounds: 51 }],
  ["request_id", { requestId: "r".repeat(65) }],
  ["conversation_id", { conversationId: "nope" }],
  ["workspace_id", { workspaceId: "AAAAAAAA-0000-7000-8000-000000000000" }],
  ["model", { model: "bad\nname" }],
  ["collection", { collection: "c".repeat(129) }],
])("%s is refused by name: %o", (field, change) => {
  expect(fieldsOf(() => checkSubmission({ ...good, ...change }))).toEqual([field]);
});

test("all faults are told at once, and a mode that comes later is named", () => {
  const work = () => checkSubmission({ ...good, prompt: "", mode: "CHAT", maxRounds: 99 });
  expect(fieldsOf(work)).toEqual(["prompt", "mode", "max_rounds"]);
  expect(work).toThrow(/MODE_CHAT, which is not offered yet, allowed MODE_REACT/);
});

test("task ids and cancel reasons", () => {
  expect(fieldsOf(() => checkTaskId("0197a0a0-0000-7000-8000-000000000000"))).toEqual([]);
  expect(fieldsOf(() => checkTaskId("x.*.>"))).toEqual(["task_id"]);
  expect(fieldsOf(() => checkTaskId(""))).toEqual(["task_id"]);
  expect(fieldsOf(() => checkCancelReason("r".repeat(501)))).toEqual(["reason"]);
});
