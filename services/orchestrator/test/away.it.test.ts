import { callsScript, type ScriptedCall } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { ended, eventsOf, type Harness, type Replica, startHarness, stateName, submit } from "./harness.ts";

let harness: Harness;
let replica: Replica;
beforeAll(async () => {
  harness = await startHarness();
  replica = await harness.orchestrator({ DROVER_TOOL_PATIENCE_MS: "3000" });
});
afterAll(async () => {
  await replica?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  harness.peers.sandboxAway = 0;
  harness.peers.runsBreak = 0;
});

const code = (text: string): ScriptedCall => ({ name: "run_code", arguments: { language: "python", code: text } });

test("a sandbox that is away for a moment is waited for, before a run and in the middle of one", async () => {
  harness.peers.sandboxAway = 2;
  harness.peers.runsBreak = 2;
  harness.model.use(callsScript([code("print here")]));
  const task = await ended(replica, "acme", (await submit(replica, "acme", "Run")).id);
  expect([stateName(task.state), task.answer]).toEqual(["SUCCEEDED", expect.stringContaining("here")]);
  expect(harness.peers.begun).toHaveLength(1);
});

test("a run that was taken and never heard of again has an unknown outcome, not a failed one", async () => {
  harness.peers.runsBreak = Number.POSITIVE_INFINITY;
  harness.model.use(callsScript([code("print lost")]));
  const task = await submit(replica, "acme", "Run");
  const events = await eventsOf(replica, "acme", task.id);
  const completed = events.find((e) => e.event.case === "toolCallCompleted")?.event.value;
  expect(completed).toMatchObject({ errorCode: "OUTCOME_UNKNOWN", summary: expect.stringContaining("not known") });
  expect((await ended(replica, "acme", task.id)).answer).toContain("ERROR OUTCOME_UNKNOWN");
});

test("a turn with hundreds of calls goes on with those that can be recorded", async () => {
  harness.model.use(callsScript(Array.from({ length: 300 }, () => ({ name: "glob", arguments: { pattern: "*" } }))));
  const task = await submit(replica, "acme", "Try all");
  const events = await eventsOf(replica, "acme", task.id);
  expect(events.filter((e) => e.event.case === "toolCallCompleted")).toHaveLength(128);
  const { state, answer } = await ended(replica, "acme", task.id);
  expect(stateName(state)).toBe("SUCCEEDED");
  expect(answer).toContain("128. ERROR TOO_MANY_CALLS");
});
