import fc from "fast-check";
import { expect, test } from "vitest";
import { loopCode, loopVerdict } from "./loop-detection.ts";
import type { Step, TaskLog, ToolCallRecord } from "./step.ts";

const usage = { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0, costNanoUsd: 0 };
interface Turn {
  readonly tool?: string;
  readonly args: string;
  readonly shown: string;
}

/** A log of turns with a call each; a number is a nudge about a loop. */
function logOf(turns: readonly (Turn | "nudge")[]): TaskLog {
  const steps: Step[] = [{ seq: 1, round: 0, body: { kind: "prompt", text: "go" } }];
  const calls: ToolCallRecord[] = [];
  for (const turn of turns) {
    const seq = steps.length + 1;
    if (turn === "nudge") {
      steps.push({ seq, round: 1, body: { kind: "nudge", text: "", code: loopCode } });
      continue;
    }
    const body = { kind: "turn", text: "", model: "", finishReason: "", decision: "tool_calls", usage, last: false };
    steps.push({ seq, round: 1, body } as Step, { seq: seq + 1, round: 1, body: { kind: "results", turn: seq } });
    calls.push({
      ...{ callId: `call-${seq}`, stepSeq: seq, ordinal: 0, providerCallId: "", tool: turn.tool ?? "grep" },
      ...{ arguments: turn.args, argumentsHash: "", policyEffect: "allow", policyRule: "", allowedCommands: [] },
      ...{ state: "SUCCEEDED", shown: turn.shown, spillPointer: "", resultCharacters: 0 },
    });
  }
  return { steps, calls };
}

const polling = new Set(["bash_output"]);
const verdict = (...turns: readonly (Turn | "nudge")[]) => loopVerdict(logOf(turns), polling);
const a: Turn = { args: '{"x":1,"y":2}', shown: "none" };
const b: Turn = { args: '{"x":2}', shown: "none" };

test("the same call with the same result is a loop the third time, however its arguments are written", () => {
  expect(verdict(a, a)).toBe("none");
  expect(verdict(a, { ...a, args: '{"y":2, "x":1}' }, a)).toBe("warn");
  expect(verdict(a, a, b, a)).toBe("none");
});

test("two calls in turn are a loop the third time", () => {
  expect(verdict(a, b, a, b, a)).toBe("none");
  expect(verdict(a, b, a, b, a, b)).toBe("warn");
});

test("who was told and goes on is stopped; who does something else first is not", () => {
  expect(verdict(a, a, a, "nudge")).toBe("none");
  expect(verdict(a, a, a, "nudge", a)).toBe("end");
  expect(verdict(a, b, a, b, a, b, "nudge", a)).toBe("end");
  expect(verdict(a, a, a, "nudge", b, a, a)).toBe("none");
  expect(verdict(a, a, a, "nudge", b, a, a, a)).toBe("warn");
});

test("polling is no loop: results that change, and tools that are made for it", () => {
  expect(verdict(a, a, { ...a, shown: "one line" })).toBe("none");
  const read: Turn = { tool: "bash_output", args: "{}", shown: "nothing new" };
  expect(verdict(read, read, read, read)).toBe("none");
});

test("the time that a program took makes no difference", () => {
  const ran = (time: string): Turn => ({ args: "{}", shown: `OK: python: exit code 0, EXITED, ${time} s\n1.25 s` });
  expect(verdict(ran("0.12"), ran("0.09"), ran("1.10"))).toBe("warn");
});

test("work in which no two turns next to each other and none two apart are alike is never stopped", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 0, max: 9 }), (length, start) => {
      const turns = Array.from({ length }, (_, index) => ({ args: String((start + index) % 3), shown: "same" }));
      expect(verdict(...turns)).toBe("none");
    }),
  );
});
