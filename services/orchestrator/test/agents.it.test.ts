import type { MessageInitShape } from "@bufbuild/protobuf";
import type { AgentSchema } from "@drover/proto/orchestrator/v1/agent_service";
import { droverErrorFrom } from "@drover/rpc";
import { type Script, turnsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, eventsOf, type Harness, startHarness, stateName, submit } from "./harness.ts";

let harness: Harness;
let replica: Awaited<ReturnType<Harness["orchestrator"]>>;
const opened = new AsyncDisposableStack();
beforeAll(async () => {
  harness = opened.use(await startHarness());
  replica = opened.use(await harness.orchestrator());
});
afterAll(() => opened.disposeAsync());

type AgentInit = MessageInitShape<typeof AgentSchema>;
const scopes = ["agents:read", "agents:write"];
const as = (tenant: string) => replica.as(tenant, scopes, "admin");
const put = async (tenant: string, agent: AgentInit, expectedVersion = 0n) =>
  (await replica.agents.putAgent({ agent, expectedVersion }, as(tenant))).agent;
const faultsOf = async (call: Promise<unknown>) => {
  const error = droverErrorFrom(
    await call.then(
      () => new Error("no error"),
      (caught: unknown) => caught,
    ),
  );
  return { code: error.code, fields: error.violations.map((violation) => violation.field) };
};

test("an agent is put, read, listed by page and deleted, by its own tenant alone", async () => {
  const first = await put("acme", { name: "b-agent", prompt: "Be brief.", tools: ["glob", "glob"] });
  expect(first).toMatchObject({ name: "b-agent", version: 1n, updatedBy: "admin", tools: ["glob"] });
  expect((await put("acme", { name: "b-agent", prompt: "Be brief.", tools: ["glob"] }))?.version).toBe(1n);
  expect((await put("acme", { name: "b-agent", prompt: "Be long." }, 1n))?.version).toBe(2n);
  expect(await faultsOf(put("acme", { name: "b-agent" }, 1n))).toEqual({ code: "ABORTED", fields: [] });
  expect(await faultsOf(put("acme", { name: "never-made" }, 1n))).toEqual({ code: "ABORTED", fields: [] });
  await put("acme", { name: "a-agent" });
  const page = await replica.agents.listAgents({ pageSize: 1 }, as("acme"));
  const next = await replica.agents.listAgents({ pageSize: 1, pageToken: page.nextPageToken }, as("acme"));
  expect([...page.agents, ...next.agents].map((agent) => agent.name)).toEqual(["a-agent", "b-agent"]);
  expect((await replica.agents.listAgents({}, as("other"))).agents).toEqual([]);
  expect(await faultsOf(replica.agents.getAgent({ name: "a-agent" }, as("other")))).toMatchObject({
    code: "NOT_FOUND",
  });
  for (let twice = 0; twice < 2; twice++) await replica.agents.deleteAgent({ name: "a-agent" }, as("acme"));
  expect(await faultsOf(replica.agents.getAgent({ name: "a-agent" }, as("acme")))).toMatchObject({ code: "NOT_FOUND" });
});

test("every fault of an agent is told at once, by field", async () => {
  const bad: AgentInit = {
    name: "no name",
    prompt: "x".repeat(20_001),
    tools: ["glob", "teleport"],
    budgets: { maxRounds: 51, maxTokens: -1n },
    verifier: {
      check: { case: "rules", value: { mustMatch: ["(?=x)"], minCharacters: 9, maxCharacters: 3 } },
      maxReworks: 9,
    },
  };
  expect(await faultsOf(put("acme", bad))).toEqual({
    code: "INVALID_ARGUMENT",
    fields: [
      "agent.name",
      "agent.prompt",
      "agent.tools[1]",
      "agent.budgets.max_rounds",
      "agent.budgets.max_tokens",
      "agent.verifier.rules.must_match[0]",
      "agent.verifier.rules.min_characters",
      "agent.verifier.max_reworks",
    ],
  });
  const checks: AgentInit["verifier"][] = [
    { check: { case: "jsonSchema", value: "{" } },
    { check: { case: "code", value: { language: "cobol", code: "x" } } },
    { check: { case: "model", value: { criteria: "" } } },
  ];
  const fields = await Promise.all(checks.map((verifier) => faultsOf(put("acme", { name: "x", verifier }))));
  expect(fields.map((fault) => fault.fields)).toEqual([
    ["agent.verifier.json_schema"],
    ["agent.verifier.code.language"],
    ["agent.verifier.model.criteria"],
  ]);
});

test("a task keeps its agent as it was: prompt, model, tools and budgets; other tools do not exist for it", async () => {
  await put("acme", { name: "narrow", prompt: "You count.", model: "m-1", tools: ["glob"], budgets: { maxRounds: 3 } });
  harness.model.use((messages) =>
    messages.some((message) => message.role === "tool")
      ? { text: String(messages.at(-1)?.content) }
      : { toolCalls: [{ name: "run_code", arguments: { language: "python", code: "print 1" } }] },
  );
  const task = await submit(replica, "acme", "Count", { agent: "narrow" });
  await put("acme", { name: "narrow", prompt: "You do not count." });
  const done = await ended(replica, "acme", task.id);
  expect(done).toMatchObject({ agent: "narrow", model: "m-1", maxRounds: 3 });
  expect(done.answer).toContain('ERROR UNKNOWN_TOOL: There is no tool "run_code"; there are glob.');
  const body = JSON.stringify(harness.model.requests.at(-1)?.body);
  expect(body).toContain("You count.");
  expect(body).not.toContain("You do not count.");
  expect(harness.model.requests.at(-1)?.body.tools).toHaveLength(1);
  expect(await faultsOf(submit(replica, "acme", "Who?", { agent: "nobody" }))).toMatchObject({ code: "NOT_FOUND" });
});

test("an answer that breaks a rule goes back with the findings; a good one ends the task, with its report", async () => {
  await put("acme", {
    name: "euro",
    verifier: { check: { case: "rules", value: { mustContain: ["EUR"] } } },
  });
  const seen: string[] = [];
  const script: Script = (messages) => {
    seen.push(String(messages.at(-1)?.content));
    return { text: seen.length === 1 ? "It is 42." : "It is 42 EUR." };
  };
  harness.model.use(script);
  const task = await submit(replica, "acme", "How much?", { agent: "euro" });
  const events = await eventsOf(replica, "acme", task.id);
  const done = await ended(replica, "acme", task.id);
  expect([stateName(done.state), done.answer]).toEqual(["SUCCEEDED", "It is 42 EUR."]);
  expect(done.verification).toMatchObject({ passed: true, verifier: "rules", reworks: 1, findings: [] });
  expect(seen[1]).toContain('MUST_CONTAIN: The answer does not contain "EUR".');
  const reports = events.flatMap(({ event }) => (event.case === "verificationCompleted" ? [event.value] : []));
  expect(reports.map(({ passed, reworks }) => [passed, reworks])).toEqual([
    [false, 1],
    [true, 1],
  ]);
  const { transitions } = await replica.client.listTransitions({ taskId: task.id }, replica.as("acme"));
  expect(transitions.map(({ to }) => stateName(to))).toEqual(
    ["CREATED", "RUNNING", "VERIFYING", "RUNNING", "VERIFYING", "SUCCEEDED"].map((name) =>
      `TASK_STATE_${name}`.slice(11),
    ),
  );
});

test("an answer that never passes is kept with its report, and the task FAILED", async () => {
  await put("acme", {
    name: "json",
    verifier: { check: { case: "jsonSchema", value: '{"type":"object"}' }, maxReworks: 1 },
  });
  harness.model.use(turnsScript([{ text: "no JSON" }]));
  const done = await ended(replica, "acme", (await submit(replica, "acme", "JSON!", { agent: "json" })).id);
  expect([stateName(done.state), done.failureReason, done.answer]).toEqual([
    "FAILED",
    "VERIFICATION_FAILED",
    "no JSON",
  ]);
  expect(done.verification).toMatchObject({
    passed: false,
    reworks: 1,
    findings: [{ code: "NOT_JSON", blocking: true }],
  });
  expect(done.round).toBe(2);
  // Resumed, the model is told of the findings as after any check, and not a second time.
  const last: string[] = [];
  harness.model.use((messages) => {
    const answered = messages.findLastIndex(({ role }) => role === "assistant");
    last.push(...messages.slice(answered + 1).map(({ role, content }) => `${role}: ${content}`));
    return { text: "{}" };
  });
  await replica.client.resumeTask({ taskId: done.id, budgets: { maxRounds: 3 } }, replica.as("acme"));
  expect(stateName((await ended(replica, "acme", done.id)).state)).toBe("SUCCEEDED");
  expect(last).toEqual([expect.stringMatching(/^user: .*JSON/s)]);
});

test("without an agent the rules that always hold are asked", async () => {
  harness.model.use(turnsScript([{ text: "See spill://no/such." }, { text: "I saw nothing." }]));
  const done = await ended(replica, "acme", (await submit(replica, "acme", "Look", {})).id);
  expect([done.answer, done.verification?.verifier, done.verification?.reworks]).toEqual([
    "I saw nothing.",
    "default",
    1,
  ]);
});

test("a program checks the answer; where it cannot be run the answer stands and the report says so", async () => {
  const verifier = (text: string) => ({ check: { case: "code" as const, value: { language: "python", code: text } } });
  await put("acme", { name: "strict", verifier: { ...verifier("exit 3"), maxReworks: -1 } });
  await put("acme", { name: "kind", verifier: verifier("exit 0") });
  harness.model.use(turnsScript([{ text: "An answer." }]));
  const [strict, kind] = await Promise.all(
    ["strict", "kind"].map(
      async (agent) => await ended(replica, "acme", (await submit(replica, "acme", "Go", { agent })).id),
    ),
  );
  expect([strict?.failureReason, strict?.verification?.findings[0]?.code]).toEqual([
    "VERIFICATION_FAILED",
    "CHECK_FAILED",
  ]);
  expect([kind?.verification?.passed, kind?.verification?.findings]).toEqual([true, []]);
  harness.peers.sandboxDown = true;
  const { id } = await submit(replica, "acme", "Go", { agent: "strict" });
  const away = await ended(replica, "acme", id).finally(() => {
    harness.peers.sandboxDown = false;
  });
  expect([stateName(away.state), away.verification?.findings[0]?.code]).toEqual(["SUCCEEDED", "VERIFIER_UNAVAILABLE"]);
});

test("a model judges as role verifier, its tokens beside the agent's; an unreadable verdict is asked for once more", async () => {
  await put("acme", {
    name: "judged",
    verifier: { check: { case: "model", value: { criteria: "It names a year." } } },
  });
  const asked: string[] = [];
  harness.model.use((messages) => {
    if (!String(messages[0]?.content).startsWith("You check an answer")) {
      return {
        text: messages.some((message) => String(message.content).includes("JUDGED")) ? "In 1969." : "Long ago.",
      };
    }
    asked.push(String(messages.at(-1)?.content));
    if (asked.length === 1) return { text: "No year there." };
    return { text: JSON.stringify({ passed: asked.length > 2, findings: asked.length > 2 ? [] : ["No year."] }) };
  });
  const task = await submit(replica, "acme", "When?", { agent: "judged" });
  const done = await ended(replica, "acme", task.id);
  expect([stateName(done.state), done.answer, asked.length]).toEqual(["SUCCEEDED", "In 1969.", 3]);
  expect(asked[1]).toContain("That was not one JSON object");
  const { steps } = await replica.client.listSteps({ taskId: task.id }, replica.as("acme"));
  const tokens = (role: string) =>
    steps.filter((step) => step.role === role).reduce((sum, step) => sum + (step.usage?.inputTokens ?? 0n), 0n);
  expect(tokens("verifier")).toBeGreaterThan(0n);
  expect(tokens("agent") + tokens("verifier")).toBe(done.usage?.inputTokens);
  expect(steps.map((step) => step.kind)).toEqual(["prompt", "turn", "verification", "turn", "verification"]);
});
