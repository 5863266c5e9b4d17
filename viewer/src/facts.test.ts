import { create } from "@bufbuild/protobuf";
import { TraceSummarySchema } from "@drover/proto/trace/v1/trace";
import { attr } from "@drover/tracing/schema";
import { describe, expect, it } from "vitest";
import { roundFacts } from "./round-facts.ts";
import { eventText, noteOf, spanFacts, tokensOf } from "./span-facts.ts";
import { buildTree } from "./span-tree.ts";
import { span } from "./test-span.ts";
import { traceFacts } from "./trace-facts.ts";

const event = (kind: string, timeMs: number, attributes = {}) => ({
  ordinal: timeMs,
  timeMs,
  kind,
  text: "",
  attributes,
});

describe("traceFacts", () => {
  const task = span({
    id: "task",
    kind: "task",
    endMs: undefined,
    attributes: { [attr.maxRounds]: "10", [attr.mode]: "REACT" },
    events: [
      event("state_changed", 1, { [attr.taskState]: "RUNNING" }),
      event("state_changed", 8, { [attr.taskState]: "WAITING_APPROVAL" }),
    ],
  });
  const spans = [
    task,
    span({ id: "r", kind: "round", attributes: { [attr.round]: "3" } }),
    span({ id: "w1", kind: "wait", startMs: 20, endMs: 50 }),
    span({ id: "w2", kind: "wait", startMs: 40, endMs: undefined }),
  ];
  const running = create(TraceSummarySchema, { running: true, rootKind: "task", taskId: "t1" });

  it("tells the newest state, the round, and work apart from waiting", () => {
    expect(traceFacts(spans, running, { fromMs: 0, toMs: 100 })).toEqual({
      state: "waiting approval",
      tone: "waiting",
      round: 3,
      maxRounds: 10,
      mode: "REACT",
      waitingMs: 80,
      workMs: 20,
      cancellableTask: "t1",
    });
  });

  it("counts no work after the task's own end, where long-term memory is seen to", () => {
    const over = [
      span({ id: "task", kind: "task", endMs: 60 }),
      span({ id: "m", kind: "memory", startMs: 70, endMs: 90 }),
    ];
    expect(traceFacts(over, running, { fromMs: 0, toMs: 90 })).toMatchObject({ workMs: 60, waitingMs: 0 });
  });

  it("offers no cancel for what has ended, nor for what is no task", () => {
    const scale = { fromMs: 0, toMs: 1 };
    const ended = create(TraceSummarySchema, { running: false, rootKind: "task", taskId: "t1", taskState: "FAILED" });
    expect(traceFacts([], ended, scale)).toMatchObject({ cancellableTask: "", state: "failed", tone: "failed" });
    const call = create(TraceSummarySchema, { running: true, rootKind: "sandbox", taskId: "t1" });
    expect(traceFacts([], call, scale)).toMatchObject({ cancellableTask: "", state: "running" });
  });
});

describe("roundFacts", () => {
  it("takes the context from what is in the round while the round still runs", () => {
    const tree = buildTree([
      span({ id: "r", kind: "round", endMs: undefined, attributes: { [attr.round]: "2" } }),
      span({
        id: "m",
        kind: "memory",
        parentId: "r",
        startMs: 1,
        attributes: {
          [attr.contextTokens]: "31000",
          [attr.contextBudget]: "100000",
          [attr.contextFixedTokens]: "1000",
          [attr.contextHistoryTokens]: "20000",
        },
      }),
      span({
        id: "t",
        parentId: "r",
        startMs: 2,
        events: [event("spilled", 3), event("spilled", 4), event("folded", 5)],
      }),
    ]);
    expect(roundFacts(tree, 0)).toEqual({
      label: "Round 2 · 1 fold · 2 spills · context 31,000 of 100,000 tokens",
      parts: [
        { name: "fixed", percent: 1 },
        { name: "history", percent: 20 },
        { name: "other", percent: 10 },
      ],
    });
  });
});

describe("spanFacts", () => {
  const spilled = span({
    id: "log",
    attributes: { [attr.resultCharacters]: "40212", [attr.shownCharacters]: "2048" },
    events: [
      event("spilled", 1, { [attr.spillPointer]: "spill://7f3a/8c1e" }),
      event("redacted", 2, { [attr.redactedCount]: "2", [attr.redactedKinds]: "bearer_token,password" }),
    ],
  });
  const factsOf = (one: Parameters<typeof spanFacts>[0]) =>
    Object.fromEntries(spanFacts(one, 0, 100).map(({ label, value }) => [label, value]));

  it("says how much of the result the model saw, where the rest is, and what was masked", () => {
    expect(factsOf(spilled)).toMatchObject({
      Result: "40,212 characters, kept as spill 7f3a/8c1e",
      "In context": "2,048 of 40,212 characters",
      Redacted: "2 secrets (bearer token, password)",
    });
    expect(noteOf(spilled)).toBe("2,048 of 40,212 characters");
    expect(spilled.events.map(eventText)).toEqual(["spill 7f3a/8c1e", "2 secrets (bearer token, password)"]);
  });

  it("gives the short name of what was spilled, and the pointer as its title", () => {
    expect(spanFacts(spilled, 0, 100)).toContainEqual(expect.objectContaining({ title: "spill://7f3a/8c1e" }));
  });

  it("says in a call's row what came of it, and until then what was asked for", () => {
    const attributes = { ...spilled.attributes, [attr.toolSummary]: "/workspace/a.log, whole file" };
    const ended = { ...spilled, attributes };
    expect(noteOf(ended)).toBe("/workspace/a.log, whole file · 2,048 of 40,212 characters");
    expect(factsOf(ended)).toHaveProperty("Summary", "/workspace/a.log, whole file");
    const running = (text: string) =>
      span({ id: "c", endMs: undefined, events: [{ ...event("tool_input", 1), text }] });
    expect(noteOf(running('{"limit": 3, "path": "/workspace/a.log"}'))).toBe("/workspace/a.log");
    expect(noteOf(running('{"code": "a\\nb", "language": "python"}'))).toBe("python");
    for (const odd of ["", "null", "[1", '"x"', "7"]) expect(noteOf(running(odd))).toBe("");
  });

  it("says that the model saw all of a result that was not cut", () => {
    const whole = span({ id: "a", attributes: { [attr.resultCharacters]: "12", [attr.shownCharacters]: "12" } });
    expect(factsOf(whole)).toMatchObject({ Result: "12 characters", "In context": "all of it" });
    expect(noteOf(whole)).toBe("");
  });

  it("counts the tokens of model calls alone", () => {
    const attributes = { [attr.inputTokens]: "4210", [attr.outputTokens]: "690", [attr.cachedInputTokens]: "4000" };
    const model = span({ id: "m", kind: "model", attributes });
    expect(tokensOf(model)).toBe(4_900);
    expect(factsOf(model)).toMatchObject({ Tokens: "4,210 in (4,000 cached) · 690 out" });
    expect(tokensOf(span({ id: "w", kind: "task", attributes }))).toBe(0);
  });

  it("shows what is odd instead of hiding it", () => {
    expect(factsOf(span({ id: "x", startMs: 9, endMs: 5 }))).toHaveProperty("Clocks");
    expect(factsOf(span({ id: "y", forced: true, error: "Its process was lost." }))).toHaveProperty("State");
    expect(factsOf(span({ id: "z", endMs: undefined }))).toHaveProperty("Running for", "100 ms");
  });

  it("survives attributes that are no numbers", () => {
    const odd = span({ id: "o", kind: "model", attributes: { [attr.inputTokens]: "many", [attr.costNanoUsd]: "1.5" } });
    expect(factsOf(odd)).toMatchObject({ Tokens: "0 in · 0 out" });
  });
});

describe("a wait for an approval", () => {
  it("says what became of it, by whom, and why", () => {
    const attributes = {
      ...{ [attr.waitFor]: "approval", [attr.approvalId]: "a1", [attr.approvalDecision]: "denied" },
      ...{ [attr.actor]: "bob", [attr.reason]: "not today" },
    };
    const facts = spanFacts(span({ id: "w", kind: "wait", attributes }), 0, 0).map(({ label, value }) => [
      label,
      value,
    ]);
    expect(facts.slice(0, 3)).toEqual([
      ["Waiting for", "approval"],
      ["Decision", "denied by bob: not today"],
      ["Approval", "a1"],
    ]);
  });
});
