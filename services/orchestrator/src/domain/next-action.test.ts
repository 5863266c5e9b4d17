import { expect, test } from "vitest";
import { isStuck, nextAction } from "./next-action.ts";
import type { StepBody, TaskLog, ToolCallRecord } from "./step.ts";

const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0, costNanoUsd: null };
const budgets = { wallMs: 0, tokens: 0, costNanoUsd: 0, toolCalls: 0, outputTokens: 0 };
const task = {
  ...({ state: "RUNNING", cancelRequested: false } as const),
  ...{ round: 1, maxRounds: 10, budgets, usage, wallMsUsed: 0, toolCallsUsed: 0 },
};

function turn(decision: (StepBody & { kind: "turn" })["decision"]): StepBody {
  return { kind: "turn", text: "t", model: "m", finishReason: "stop", decision, usage, last: false };
}

function logOf(bodies: readonly StepBody[], calls: readonly ToolCallRecord[] = []): TaskLog {
  return { steps: bodies.map((body, index) => ({ seq: index + 1, round: 1, body })), calls };
}

function call(ordinal: number, stepSeq = 2): ToolCallRecord {
  return {
    callId: `c${ordinal}`,
    stepSeq,
    ordinal,
    providerCallId: `p${ordinal}`,
    tool: "glob",
    arguments: "{}",
    argumentsHash: "",
    policyEffect: "allow",
    policyRule: "",
    allowedCommands: [],
    state: "PROPOSED",
    shown: "",
    spillPointer: "",
    resultCharacters: 0,
  };
}

const prompt: StepBody = { kind: "prompt", text: "go" };

test("a new task starts, a started one asks for its first round", () => {
  expect(nextAction({ ...task, state: "CREATED", round: 0 }, logOf([prompt]))).toEqual({ kind: "start" });
  expect(nextAction({ ...task, round: 0 }, logOf([prompt]))).toEqual({ kind: "ask", round: 1, limit: undefined });
});

test("a turn with calls is followed by running them, in call order", () => {
  const action = nextAction(task, logOf([prompt, turn("tool_calls")], [call(1), call(0), call(7, 9)]));
  expect(action).toMatchObject({ kind: "run_calls", turn: 2, calls: [{ ordinal: 0 }, { ordinal: 1 }] });
});

test("after results the next round, and after the last round one more question without tools", () => {
  const log = logOf([prompt, turn("tool_calls"), { kind: "results", turn: 2 }]);
  expect(nextAction({ ...task, round: 9 }, log)).toEqual({ kind: "ask", round: 10, limit: undefined });
  expect(nextAction({ ...task, round: 10 }, log)).toEqual({ kind: "ask", round: 10, limit: "ROUNDS" });
});

test("when the time to work is over open calls are settled and an answer is asked for; then it ends", () => {
  const late = { ...task, budgets: { ...budgets, wallMs: 10_000 }, wallMsUsed: 9_500 };
  expect(nextAction(late, logOf([prompt, turn("tool_calls")], [call(0)]))).toEqual({ kind: "settle_calls" });
  const log = logOf([prompt, turn("tool_calls"), { kind: "results", turn: 2 }]);
  expect(nextAction(late, log)).toEqual({ kind: "ask", round: 1, limit: "WALL_TIME" });
  expect(nextAction({ ...late, wallMsUsed: 10_000 }, log)).toMatchObject({
    kind: "fail",
    reason: "BUDGET_EXHAUSTED_WALL_TIME",
  });
});

test("a turn that asked for tools without being offered any is not waited for: with more rounds the work goes on", () => {
  const forced: StepBody = { ...(turn("tool_calls") as StepBody & { kind: "turn" }), last: true };
  expect(nextAction({ ...task, round: 2 }, logOf([prompt, forced]))).toMatchObject({ kind: "ask", round: 3 });
});

test("an answer that was verified is the end, one that was sent back is asked for again", () => {
  const report = { passed: true, verifier: "default", findings: [], reworks: 0 };
  const checked = logOf([prompt, turn("final"), { kind: "verification", report }]);
  expect(nextAction({ ...task, state: "VERIFYING" }, checked)).toEqual({ kind: "succeed" });
  expect(nextAction(task, checked)).toMatchObject({ kind: "ask", round: 2 });
});

test("an answer is verified, a cancel comes before everything, an end is left alone", () => {
  const log = logOf([prompt, turn("final")]);
  expect(nextAction({ ...task, state: "VERIFYING" }, log)).toMatchObject({ kind: "verify", turn: { seq: 2 } });
  expect(nextAction({ ...task, state: "VERIFYING", cancelRequested: true }, log)).toEqual({ kind: "cancel" });
  expect(nextAction({ ...task, state: "FAILED", cancelRequested: true }, log)).toEqual({ kind: "nothing" });
});

test("a log that makes no sense fails the task instead of the worker", () => {
  expect(nextAction(task, logOf([]))).toMatchObject({ kind: "fail", reason: "INTERNAL" });
  expect(nextAction({ ...task, state: "VERIFYING" }, logOf([prompt]))).toMatchObject({ kind: "fail" });
});

test("two unusable turns in a row are stuck, with a good one between they are not", () => {
  expect(isStuck(logOf([prompt, turn("empty"), turn("length")]))).toBe(true);
  expect(isStuck(logOf([prompt, turn("empty"), turn("tool_calls"), turn("empty")]))).toBe(false);
  expect(isStuck(logOf([prompt, turn("empty")]))).toBe(false);
});
