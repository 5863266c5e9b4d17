import { conversationFault, type Message } from "@drover/model";
import fc from "fast-check";
import { expect, test } from "vitest";
import { completeThrough, type LoggedMessage, messagesAfter } from "./conversation.ts";
import type { Step, StepBody, TaskLog, ToolCallRecord } from "./step.ts";

const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0, costNanoUsd: null };

type Turn = { readonly text: string; readonly calls: number };

/** A log as the loop writes one: a prompt, then turns, each with its results. */
function logOf(turns: readonly Turn[], openEnd: boolean): TaskLog {
  const steps: Step[] = [{ seq: 1, round: 0, body: { kind: "prompt", text: "go" } }];
  const calls: ToolCallRecord[] = [];
  const add = (round: number, body: StepBody) => steps.push({ seq: steps.length + 1, round, body });
  for (const [index, turn] of turns.entries()) {
    const decision = turn.calls > 0 ? "tool_calls" : turn.text === "" ? "empty" : "final";
    add(index + 1, { kind: "turn", text: turn.text, model: "m", finishReason: "", decision, usage, last: false });
    const seq = steps.length;
    for (let ordinal = turn.calls - 1; ordinal >= 0; ordinal--) calls.push(call(seq, ordinal));
    if (turn.calls > 0 && !(openEnd && index === turns.length - 1)) add(index + 1, { kind: "results", turn: seq });
    if (turn.calls === 0) add(index + 1, { kind: "nudge", text: "go on" });
  }
  return { steps, calls };
}

function call(stepSeq: number, ordinal: number): ToolCallRecord {
  return {
    callId: `c${stepSeq}-${ordinal}`,
    stepSeq,
    ordinal,
    providerCallId: `p${ordinal}`,
    tool: "glob",
    arguments: "{}",
    argumentsHash: "",
    policyEffect: "allow",
    policyRule: "",
    allowedCommands: [],
    state: "SUCCEEDED",
    shown: `result ${ordinal}`,
    spillPointer: "",
    resultCharacters: 8,
  };
}

function asModelMessage(message: LoggedMessage): Message {
  if (message.role === "tool") return { role: "tool", callId: message.toolCallId, text: message.text };
  if (message.role === "user") return { role: "user", text: message.text };
  return { role: "assistant", text: message.text, toolCalls: message.toolCalls };
}

const turns = fc.array(fc.record({ text: fc.constantFrom("", "thinking"), calls: fc.nat(3) }), { maxLength: 8 });

test("whatever the log, the messages are a history that a strict provider accepts", () => {
  fc.assert(
    fc.property(turns, fc.boolean(), (list, openEnd) => {
      const messages = messagesAfter("task", logOf(list, openEnd), 0);
      expect(conversationFault(messages.map(asModelMessage))).toBeUndefined();
    }),
  );
});

test("feeding a growing log in pieces gives the same messages once each", () => {
  fc.assert(
    fc.property(turns, fc.boolean(), (list, openEnd) => {
      const whole = logOf(list, openEnd);
      const fed: LoggedMessage[] = [];
      let through = 0;
      for (let size = 1; size <= whole.steps.length; size++) {
        const log = { steps: whole.steps.slice(0, size), calls: whole.calls };
        fed.push(...messagesAfter("task", log, through));
        through = completeThrough(log);
      }
      expect(fed).toEqual(messagesAfter("task", whole, 0));
      expect(new Set(fed.map((m) => m.clientMessageId)).size).toBe(fed.length);
    }),
  );
});

test("the task's own words are pinned and results stand in call order", () => {
  const messages = messagesAfter("t", logOf([{ text: "", calls: 2 }], false), 0);
  expect(messages.map((m) => [m.role, m.clientMessageId, m.pinned])).toEqual([
    ["user", "t/1/0", true],
    ["assistant", "t/3/0", false],
    ["tool", "t/3/1", false],
    ["tool", "t/3/2", false],
  ]);
  expect(messages.slice(2).map((m) => m.text)).toEqual(["result 0", "result 1"]);
});
