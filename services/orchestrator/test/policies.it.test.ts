import { PolicyEffect } from "@drover/proto/orchestrator/v1/agent_service";
import { droverErrorFrom } from "@drover/rpc";
import { callsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { code, decide, decider, pending, rule } from "./approving.ts";
import { ended, eventsOf, type Harness, type Replica, startHarness, stateName, submit } from "./harness.ts";

let harness: Harness;
let one: Replica & AsyncDisposable;
let two: Replica & AsyncDisposable;
beforeAll(async () => {
  harness = await startHarness();
  one = await harness.orchestrator({ DROVER_WATCH_POLL_MS: "200" });
  two = await harness.orchestrator({ DROVER_WATCH_POLL_MS: "200" });
});
afterAll(async () => {
  await one?.[Symbol.asyncDispose]();
  await two?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

const containing = (value: string) => [{ path: "code", test: { case: "matches" as const, value } }];
const check = async (replica: Replica, tenant: string, text: string, tool = "run_code") => {
  const request = { tool, arguments: JSON.stringify({ language: "python", code: text }) };
  const { effect, rule: name } = await replica.agents.checkPolicy(request, decider(replica, tenant));
  return [Object.entries(PolicyEffect).find(([, value]) => value === effect)?.[0], name];
};

test("rules are kept in the order in which they are asked, in pages, and a check names the one that decides", async () => {
  await rule(one, "order", { name: "all", tool: "*", priority: -1, effect: PolicyEffect.DENY, reason: "closed" });
  await rule(two, "order", { name: "b", effect: PolicyEffect.ALLOW, conditions: containing("print") });
  const written = await rule(one, "order", { name: "a", conditions: containing("^import os"), askIfUnknown: true });
  expect(written).toMatchObject({ name: "a", updatedBy: "bob", expiresMs: 86_400_000n, askIfUnknown: true });
  const names: string[] = [];
  let pageToken = "";
  do {
    const page = await two.agents.listPolicies({ pageSize: 2, pageToken }, decider(two, "order"));
    names.push(...page.policies.map(({ name }) => name));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  expect(names).toEqual(["a", "b", "all"]);
  expect(await check(one, "order", "import os; print(1)")).toEqual(["ASK", "a"]);
  expect(await check(two, "order", "print(1)")).toEqual(["ALLOW", "b"]);
  expect(await check(two, "order", "1")).toEqual(["DENY", "all"]);
  await one.agents.deletePolicy({ name: "all" }, decider(one, "order"));
  await two.agents.deletePolicy({ name: "all" }, decider(two, "order"));
  expect(await check(one, "order", "1")).toEqual(["ALLOW", ""]);
  expect((await one.agents.listPolicies({}, decider(one, "foreign"))).policies).toEqual([]);
});

test.each([
  ["policy.tool", { tool: "run_cod" }, /one of run_code, /],
  ["policy.name", { name: "" }, /letters/],
  ["policy.effect", { effect: PolicyEffect.UNSPECIFIED }, /ALLOW/],
  ["policy.conditions[0].matches", { conditions: containing("(") }, /RE2/],
  ["policy.conditions[0].test", { conditions: [{ path: "code" }] }, /one test/],
])("a rule with a fault in %s is refused with what is allowed", async (field, fields, allowed) => {
  const failure = await rule(one, "faults", fields).catch(droverErrorFrom);
  expect(failure).toMatchObject({
    code: "INVALID_ARGUMENT",
    violations: [{ field, allowed: expect.stringMatching(allowed) }],
  });
});

test("who may only read rules cannot write them, and a check of no tool says which there are", async () => {
  const reader = one.as("faults", ["policies:read"]);
  const writing = one.agents.putPolicy({ policy: { name: "x", tool: "*" } }, reader).catch(droverErrorFrom);
  expect(await writing).toMatchObject({ code: "PERMISSION_DENIED" });
  const asking = one.agents.checkPolicy({ tool: "nothing", arguments: "{}" }, reader).catch(droverErrorFrom);
  expect(await asking).toMatchObject({ violations: [{ field: "tool", allowed: expect.stringContaining("run_code") }] });
});

test("a batch is judged before any of it runs: what is denied has its result, the rest waits for its approval", async () => {
  harness.model.use(callsScript([code("print allowed"), code("drop table"), code("print asked")]));
  await rule(one, "batch", {
    name: "no-drop",
    effect: PolicyEffect.DENY,
    reason: "never",
    conditions: containing("drop"),
  });
  await rule(one, "batch", { name: "ask-asked", conditions: containing("asked") });
  const task = await submit(one, "batch", "Batch");
  const [approval] = await pending(one, "batch", task.id);
  expect(approval.rule).toBe("ask-asked");
  const { toolCalls } = await one.client.listToolCalls({ taskId: task.id }, one.as("batch"));
  expect(toolCalls.map(({ policyRule }) => policyRule)).toEqual(["", "no-drop", "ask-asked"]);
  expect(harness.peers.begun.filter((id) => toolCalls.some(({ callId }) => callId === id))).toEqual([]);
  await decide(two, "batch", approval);
  const { answer } = await ended(one, "batch", task.id);
  expect(answer).toMatch(
    /1\. OK[\s\S]*allowed[\s\S]*2\. ERROR DENIED_BY_POLICY: The policy no-drop [^\n]*: never\.\n3\. OK/,
  );
  expect(harness.peers.begun).not.toContain(toolCalls[1]?.callId);
});

test("a task all of whose calls are denied goes on; a change of the rules binds the next turn on every replica", async () => {
  const turns = [code("print 1"), code("print 2"), code("print 3")];
  harness.model.use((messages) => {
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content).slice(0, 8));
    const call = turns[results.length];
    return call === undefined ? { text: results.join("|") } : { toolCalls: [call], delayMs: 400 };
  });
  await rule(one, "change", { effect: PolicyEffect.DENY, conditions: containing("[12]") });
  const task = await submit(one, "change", "Change");
  for await (const { message } of one.client.watchTask({ taskId: task.id }, one.as("change"))) {
    if (message.case !== "event" || message.value.event.case !== "toolCallCompleted") continue;
    await rule(two, "change", { effect: PolicyEffect.DENY, conditions: containing("3") });
    break;
  }
  const done = await ended(one, "change", task.id);
  expect([stateName(done.state), done.answer]).toEqual(["SUCCEEDED", "ERROR DE|OK: pyth|ERROR DE"]);
});

test("a model that goes round in circles is told once, and then the task ends", async () => {
  harness.model.use(() => ({ toolCalls: [code("print again")] }));
  const task = await submit(one, "circles", "Circles");
  const events = await eventsOf(one, "circles", task.id);
  expect(events.filter(({ event }) => event.case === "toolCallRequested")).toHaveLength(4);
  expect(events.flatMap(({ event }) => (event.case === "notice" ? [event.value.code] : []))).toEqual(["LOOP_DETECTED"]);
  const done = await ended(one, "circles", task.id);
  expect([stateName(done.state), done.failureReason]).toEqual(["FAILED", "LOOP_DETECTED"]);
  expect(JSON.stringify(harness.model.requests.at(-1))).toContain("the results did not change");
});

test("a model that repeats itself because things change is left alone", async () => {
  let turn = 0;
  harness.model.use(() =>
    turn++ < 5 ? { toolCalls: [code(`print ${turn}`), code("print poll")] } : { text: "ready" },
  );
  const task = await submit(one, "polls", "Poll");
  expect(stateName((await ended(one, "polls", task.id)).state)).toBe("SUCCEEDED");
});

test("results come to the model in call order, however long each call took", async () => {
  harness.model.use(callsScript([code("sleep 300"), code("sleep 200"), code("sleep 100")]));
  const task = await submit(one, "sorted", "Sort");
  const { answer } = await ended(one, "sorted", task.id);
  expect([...answer.matchAll(/slept (\d+)/g)].map(([, ms]) => ms)).toEqual(["300", "200", "100"]);
  const events = await eventsOf(one, "sorted", task.id);
  const ids = (name: string) =>
    events.flatMap(({ event }) => (event.case === name ? [(event.value as { callId: string }).callId] : []));
  expect(ids("toolCallCompleted")).toEqual(ids("toolCallRequested"));
});
