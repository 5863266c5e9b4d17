import { expect, test } from "vitest";
import type { Step, ToolCallRecord } from "../../src/domain/step.ts";
import { historyFaults } from "./check-history.ts";
import type { History, RecordedTask, RecordedTransition } from "./history.ts";

const usage = { inputTokens: 1, outputTokens: 1, cachedInputTokens: 0, reasoningTokens: 0, costNanoUsd: 0 };

const turn = (seq: number, decision: "tool_calls" | "final", epoch = 1): Step & { epoch: number } => ({
  seq,
  round: 1,
  epoch,
  body: { kind: "turn", text: "t", model: "m", finishReason: "stop", decision, usage, role: "agent", last: false },
});

const call: ToolCallRecord = {
  ...{ callId: "c1", stepSeq: 2, ordinal: 0, providerCallId: "p", tool: "run_code", arguments: '{"code":"print x"}' },
  ...{ argumentsHash: "h", policyEffect: "allow", policyRule: "", allowedCommands: [] as string[] },
  ...{ state: "SUCCEEDED", shown: "OK", spillPointer: "", resultCharacters: 2 },
} as const;

const transition = (version: number, from: string, to: string, outputEvent: number): RecordedTransition => ({
  ...{ version, from, to, actor: "worker", outputEvent },
});

const events = ["status_changed", "status_changed", "assistant_message", "status_changed", "status_changed"]
  .concat("task_completed")
  .map((type, index) => ({ sequence: index + 1, type, text: `e${index + 1}` }));

const task: RecordedTask = {
  ...{ id: "t1", state: "SUCCEEDED", version: 8, lastSequence: 6, epoch: 2, events, calls: [call], approvals: [] },
  transitions: [
    transition(1, "UNSPECIFIED", "CREATED", 1),
    transition(2, "CREATED", "RUNNING", 2),
    transition(6, "RUNNING", "VERIFYING", 4),
    transition(7, "VERIFYING", "SUCCEEDED", 5),
  ],
  steps: [
    { seq: 1, round: 0, epoch: 0, body: { kind: "prompt", text: "go" } },
    turn(2, "tool_calls"),
    { seq: 3, round: 1, epoch: 2, body: { kind: "results", turn: 2 } },
    turn(4, "final", 2),
  ],
};

const operation = { kind: "submit", invokedAt: 0, settledAt: 1, outcome: "ok", taskId: "t1", accepted: false } as const;
const effect = { callId: "c1", key: "print x", at: 1, completed: true };

const sound: History = {
  operations: [operation],
  effects: [{ ...effect, callId: "c0", completed: false }, effect],
  owners: [
    { owner: "a", taskId: "t1", epoch: 1, version: 0 },
    { owner: "a", taskId: "t1", epoch: 1, version: 2 },
    { owner: "b", taskId: "t1", epoch: 2, version: 0 },
    { owner: "b", taskId: "t1", epoch: 2, version: 5 },
  ],
  watches: [{ taskId: "t1", events: events.map(({ sequence, text }) => ({ sequence, text })), complete: true }],
  tasks: [task],
};

const withTask = (fields: Partial<RecordedTask>): History => ({ ...sound, tasks: [{ ...task, ...fields }] });
const lastOf = <T>(all: readonly T[], fields: Partial<T>): T[] => [
  ...all.slice(0, -1),
  ...all.slice(-1).map((one) => ({ ...one, ...fields })),
];
const [watch] = sound.watches;
const seen = watch?.events ?? [];

test("a sound history has no faults, one that was cancelled, resumed and cancelled again neither", () => {
  expect(historyFaults(sound)).toEqual([]);
  const status = { type: "status_changed", text: "s" };
  const completed = { type: "task_completed", text: "c" };
  const resumed = withTask({
    state: "CANCELLED",
    version: 9,
    lastSequence: 7,
    transitions: [
      transition(1, "UNSPECIFIED", "CREATED", 1),
      transition(2, "CREATED", "CANCELLED", 2),
      transition(3, "CANCELLED", "RUNNING", 4),
      transition(9, "RUNNING", "CANCELLED", 6),
    ],
    events: [status, status, completed, status, status, status, completed].map((event, index) => ({
      ...event,
      sequence: index + 1,
    })),
  });
  const cancelled = { ...operation, kind: "cancel" as const, accepted: true };
  const resume = { ...operation, kind: "resume" as const, accepted: true };
  expect(historyFaults({ ...resumed, watches: [], operations: [operation, cancelled, resume] })).toEqual([]);
});

test.each<[string, RegExp, History]>([
  [
    "a task that does not end",
    /has not ended/,
    withTask({ state: "RUNNING", transitions: task.transitions.slice(0, 2) }),
  ],
  [
    "an illegal transition",
    /RUNNING to SUCCEEDED is not legal/,
    withTask({ transitions: lastOf(task.transitions, { from: "RUNNING" }) }),
  ],
  [
    "a success that overwrites a cancel",
    /1 attempts have 2 ends/,
    withTask({
      transitions: [...task.transitions.slice(0, 3), transition(7, "VERIFYING", "CANCELLED", 5)].concat(
        transition(8, "CANCELLED", "SUCCEEDED", 5),
      ),
    }),
  ],
  [
    "a broken chain",
    /leaves VERIFYING, but the task was RUNNING/,
    withTask({ transitions: task.transitions.toSpliced(2, 1) }),
  ],
  ["a state without its transition", /its last transition went to SUCCEEDED/, withTask({ state: "FAILED" })],
  [
    "a version that goes back",
    /version 2 comes after/,
    withTask({ transitions: lastOf(task.transitions, { version: 2 }) }),
  ],
  [
    "a version that is not there",
    /has version 9 of 8/,
    withTask({ transitions: lastOf(task.transitions, { version: 9 }) }),
  ],
  [
    "a transition without an event",
    /no event 3/,
    withTask({ transitions: lastOf(task.transitions, { outputEvent: 3 }) }),
  ],
  [
    "two last events",
    /1 ends have 2 last events/,
    withTask({ events: lastOf(events, {}).with(2, { sequence: 3, type: "task_completed", text: "e3" }) }),
  ],
  [
    "an event after the end",
    /event 7 comes after the end/,
    withTask({ lastSequence: 7, events: [...events, { sequence: 7, type: "assistant_message", text: "e7" }] }),
  ],
  ["a gap in the events", /event 4 is number 5/, withTask({ events: events.toSpliced(3, 1) })],
  ["a counter that is ahead", /last sequence is 9/, withTask({ lastSequence: 9 })],
  ["a gap in the steps", /step 4 is number 5/, withTask({ steps: lastOf(task.steps, { seq: 5 }) })],
  [
    "a write of a former owner",
    /under epoch 1, the one before under 2/,
    withTask({ steps: lastOf(task.steps, { epoch: 1 }) }),
  ],
  ["an epoch from the future", /has epoch 3 of 2/, withTask({ steps: lastOf(task.steps, { epoch: 3 }) })],
  ["an open call", /call c1 is still DISPATCHED/, withTask({ calls: [{ ...call, state: "DISPATCHED" }] })],
  [
    "a call without an answer",
    /step 2 are answered 0 times/,
    withTask({ steps: task.steps.filter(({ seq }) => seq !== 3) }),
  ],
  ["a call id used twice", /provider would refuse/, withTask({ calls: [call, { ...call, ordinal: 1 }] })],
  ["a lost task", /accepted and is lost/, { ...sound, tasks: [], watches: [], effects: [] }],
  ["a task from nowhere", /1 tasks that nobody was told of/, { ...sound, operations: [] }],
  [
    "a cancel that was overwritten",
    /succeeded after its cancel/,
    { ...sound, operations: [operation, { ...operation, kind: "cancel", accepted: true }] },
  ],
  [
    "two owners of an epoch",
    /was held by b and by a/,
    { ...sound, owners: lastOf(sound.owners, {}).concat({ owner: "a", taskId: "t1", epoch: 2, version: 0 }) },
  ],
  [
    "a version written twice",
    /version 5 was written twice/,
    { ...sound, owners: [...sound.owners, { owner: "b", taskId: "t1", epoch: 2, version: 5 }] },
  ],
  [
    "a fenced write that got through",
    /version 6 was written under epoch 1 after 2/,
    { ...sound, owners: [...sound.owners, { owner: "a", taskId: "t1", epoch: 1, version: 6 }] },
  ],
  [
    "a side effect twice",
    /print x was done 2 times/,
    { ...sound, effects: [...sound.effects, { ...effect, callId: "c2" }] },
  ],
  [
    "a call that began twice",
    /call c1 began twice/,
    { ...sound, effects: [...sound.effects, { ...effect, completed: false }] },
  ],
  [
    "a side effect without an intent",
    /without a recorded call/,
    { ...sound, effects: [{ ...effect, key: "print y" }] },
  ],
  ["a side effect of a denied call", /by a call DENIED/, withTask({ calls: [{ ...call, state: "DENIED" }] })],
  [
    "a watcher with a gap",
    /got event 3 as its number 2/,
    { ...sound, watches: [{ taskId: "t1", events: seen.toSpliced(1, 1), complete: true }] },
  ],
  [
    "a watcher with a duplicate",
    /got event 1 as its number 2/,
    { ...sound, watches: [{ taskId: "t1", events: seen.toSpliced(1, 0, ...seen.slice(0, 1)), complete: true }] },
  ],
  [
    "a watcher who saw something else",
    /another event 2/,
    { ...sound, watches: [{ taskId: "t1", events: seen.with(1, { sequence: 2, text: "x" }), complete: true }] },
  ],
  [
    "a watch that nobody followed to the end",
    /no watcher of task t1 was told of its end/,
    { ...sound, watches: [{ taskId: "t1", events: seen.slice(0, 4), complete: false }] },
  ],
  [
    "a watcher who was let go early",
    /after 4 of 6/,
    { ...sound, watches: [{ taskId: "t1", events: seen.slice(0, 4), complete: true }] },
  ],
])("finds %s", (_, fault, history) => {
  expect(historyFaults(history)).toContainEqual(expect.stringMatching(fault));
});
