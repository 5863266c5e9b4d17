import { expect, test } from "vitest";
import { isStuck, nextAction } from "./next-action.ts";
import type { StepBody, TaskLog, ToolCallRecord } from "./step.ts";

const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0, costNanoUsd: null };
const task = { state: "RUNNING", round: 1, maxRounds: 10, cancelRequested: false } as const;

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
  expect(nextAction({ ...task, round: 0 }, logOf([prompt]))).toEqual({ kind: "ask", round: 1, last: false });
});

test("a turn with calls is followed by running them, in call order", () => {
  const action = nextAction(task, logOf([prompt, turn("tool_calls")], [call(1), call(0), call(7, 9)]));
  expect(action).toMatchObject({ kind: "run_calls", turn: 2, calls: [{ ordinal: 0 }, { ordinal: 1 }] });
});

test("after results the next round, and after the last round one more question without tools", () => {
  const log = logOf([prompt, turn("tool_calls"), { kind: "results", turn: 2 }]);
  expect(nextAction({ ...task, round: 9 }, log)).toEqual({ kind: "ask", round: 10, last: false });
  expect(nextAction({ ...task, round: 10 }, log)).toEqual({ kind: "ask", round: 10, last: true });
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
