import type { Task } from "@drover/proto/orchestrator/v1/task";
import { type Script, turnsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, eventsOf, type Harness, type Replica, startHarness, stateName, submit } from "./harness.ts";

let harness: Harness;
let replica: Replica;
beforeAll(async () => {
  harness = await startHarness();
  replica = await harness.orchestrator({ DROVER_LEASE_TTL_MS: "1500", DROVER_TENANT_RUNNING: "20" });
});
afterAll(async () => {
  await replica?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

const code = (text: string) => ({ name: "run_code", arguments: { language: "python", code: text } });
const again: Script = (messages, tools) =>
  tools.length > 0 ? { toolCalls: [code(`print ${messages.length}`)] } : { text: "This is what I have." };
const noticesOf = async (task: Task) =>
  (await eventsOf(replica, "acme", task.id)).flatMap(({ event }) =>
    event.case === "notice" && event.value.code === "BUDGET_EXHAUSTED" ? [event.value.text] : [],
  );

test("a budget of tokens is not gone over: the model is asked for its answer while one can be had", async () => {
  harness.model.use(again);
  const task = await submit(replica, "acme", "Loop", { budgets: { maxTokens: 12_000n }, maxRounds: 50 });
  const done = await ended(replica, "acme", task.id);
  expect(done.answer).toBe(
    "[Stopped at the limit of 12000 tokens; this answer may be incomplete.]\n\nThis is what I have.",
  );
  expect(stateName(done.state)).toBe("SUCCEEDED");
  expect(done.budgetUse?.tokens).toBeLessThanOrEqual(12_000n);
  expect(done.round).toBeGreaterThan(1);
  expect(await noticesOf(done)).toEqual(["The task has reached the limit of 12000 tokens."]);
});

test("a call that could go over the budget gets less to say, or is not made", async () => {
  harness.model.use(() => ({ text: "word ".repeat(300) }));
  const before = harness.model.requests.length;
  const short = await ended(
    replica,
    "acme",
    (await submit(replica, "acme", "Hi", { budgets: { maxTokens: 100n } })).id,
  );
  expect([stateName(short.state), short.failureReason]).toEqual(["FAILED", "BUDGET_EXHAUSTED_TOKENS"]);
  expect(harness.model.requests.length).toBe(before);
  await submit(replica, "acme", "Hi", { budgets: { maxTokens: 8_000n, maxOutputTokens: 777 } }).then(({ id }) =>
    ended(replica, "acme", id),
  );
  expect(harness.model.requests.at(-1)?.body).toMatchObject({ max_completion_tokens: 777 });
});

test("a budget of money is kept by list prices; without a price nothing is spent", async () => {
  harness.model.use(again);
  const budgets = { maxCostNanoUsd: 5_000_000n };
  const task = await submit(replica, "acme", "Loop", { budgets, model: "gpt-4.1-mini", maxRounds: 50 });
  const done = await ended(replica, "acme", task.id);
  expect(done.answer).toContain("[Stopped at the limit of 0.005 USD");
  expect(Number(done.usage?.costNanoUsd)).toBeLessThanOrEqual(5_000_000);
  const unpriced = await submit(replica, "acme", "Loop", { budgets, model: "nobody-knows" });
  const failed = await ended(replica, "acme", unpriced.id);
  expect(failed.failureReason).toBe("BUDGET_EXHAUSTED_COST");
  expect(failed.failureMessage).toContain("price of nobody-knows is not known");
});

test("calls over the budget of tool calls are refused in words, and an answer is asked for", async () => {
  harness.model.use((_messages, tools) =>
    tools.length > 0 ? { toolCalls: [code("print a"), code("print b"), code("print c")] } : { text: "Done." },
  );
  const task = await submit(replica, "acme", "Three", { budgets: { maxToolCalls: 2 } });
  const events = await eventsOf(replica, "acme", task.id);
  const codes = events.flatMap(({ event }) => (event.case === "toolCallCompleted" ? [event.value.errorCode] : []));
  expect(codes).toEqual(["", "", "BUDGET_EXHAUSTED"]);
  const done = await ended(replica, "acme", task.id);
  expect(done.answer).toBe("[Stopped at the limit of 2 tool calls; this answer may be incomplete.]\n\nDone.");
  expect(done.budgetUse?.toolCalls).toBe(2);
});

test("time that is used up in the middle of a call stops it, and what is left is for an answer", async () => {
  harness.model.use((_messages, tools) =>
    tools.length > 0 ? { toolCalls: [code("print quick"), code("sleep 600000")] } : { text: "So far." },
  );
  const task = await submit(replica, "acme", "Sleep", { budgets: { maxWallMs: 30_000n } });
  const short = await submit(replica, "acme", "Sleep", { budgets: { maxWallMs: 6_000n } });
  const done = await ended(replica, "acme", short.id);
  expect([stateName(done.state), done.answer]).toEqual([
    "SUCCEEDED",
    "[Stopped at the limit of 6 s of work; this answer may be incomplete.]\n\nSo far.",
  ]);
  const log = harness.peers.conversations.get(done.conversationId) ?? [];
  expect(log.map((message) => message.text.split(":")[0])).toEqual(
    expect.arrayContaining(["OK", expect.stringMatching(/^ERROR (CANCELLED|BUDGET_EXHAUSTED)$/)]),
  );
  const calls = (await eventsOf(replica, "acme", short.id)).flatMap(({ event }) =>
    event.case === "toolCallCompleted" ? [event.value.callId] : [],
  );
  expect(calls.length).toBeGreaterThanOrEqual(2);
  expect(harness.peers.ended).toEqual(expect.arrayContaining(calls));
  await replica.client.cancelTask({ taskId: task.id }, replica.as("acme"));
  expect(stateName((await ended(replica, "acme", task.id)).state)).toBe("CANCELLED");
});

test("a model that does not answer before the time is over fails the task; with more time it goes on", async () => {
  harness.model.use(() => ({ text: "late", delayMs: 600_000 }));
  const task = await submit(replica, "acme", "Wait", { budgets: { maxWallMs: 2_000n } });
  const failed = await ended(replica, "acme", task.id);
  expect(failed.failureReason).toBe("BUDGET_EXHAUSTED_WALL_TIME");
  harness.model.use(turnsScript([{ text: "In time." }]));
  const resume = { taskId: task.id, budgets: { maxWallMs: 60_000n } };
  await replica.client.resumeTask(resume, replica.as("acme"));
  const done = await ended(replica, "acme", task.id);
  expect([stateName(done.state), done.answer, done.resumes]).toEqual(["SUCCEEDED", "In time.", 1]);
  expect(done.budgetUse?.wallMs).toBeGreaterThanOrEqual(failed.budgetUse?.wallMs ?? 0n);
});

test("with more rounds a task that used them up goes on where it was", async () => {
  harness.model.use((_messages, tools) => ({ toolCalls: [code(`print ${tools.length}`)] }));
  const task = await submit(replica, "acme", "Loop", { maxRounds: 1 });
  expect((await ended(replica, "acme", task.id)).failureReason).toBe("BUDGET_EXHAUSTED_ROUNDS");
  harness.model.use(turnsScript([{ text: "Now I know." }]));
  await replica.client.resumeTask({ taskId: task.id, budgets: { maxRounds: 3 } }, replica.as("acme"));
  const done = await ended(replica, "acme", task.id);
  expect([stateName(done.state), done.answer, done.round]).toEqual(["SUCCEEDED", "Now I know.", 2]);
});

test("twenty tasks at once each have their own usage and no other's", async () => {
  const words = (n: number) => "w ".repeat(10 * n).trim();
  harness.model.use((messages) => {
    const n = Number(/task (\d+)/.exec(JSON.stringify(messages.at(-1)?.content))?.[1]);
    return { text: words(n), delayMs: (n % 5) * 20 };
  });
  const tasks = await Promise.all(
    Array.from({ length: 20 }, (_, n) => submit(replica, "acme", `task ${n + 1}`, { model: "gpt-4.1-mini" })),
  );
  const done = await Promise.all(tasks.map(({ id }) => ended(replica, "acme", id)));
  for (const [index, task] of done.entries()) {
    expect(task.usage?.outputTokens).toBe(BigInt(10 * (index + 1)));
    const { steps } = await replica.client.listSteps({ taskId: task.id }, replica.as("acme"));
    const asked = steps.filter((step) => step.usage !== undefined && step.usage.inputTokens > 0n);
    expect(asked.map((step) => [step.role, step.usage?.outputTokens])).toEqual([["agent", task.usage?.outputTokens]]);
    expect(task.usage?.costNanoUsd).toBe(
      (task.usage?.inputTokens ?? 0n) * 400n + (task.usage?.outputTokens ?? 0n) * 1_600n,
    );
  }
});
