import { openDatabase } from "@drover/postgres";
import { echoScript, type Script } from "@drover/testkit/scripted-model";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { ended, type Harness, type Replica, startHarness, stateName, submit, until } from "./harness.ts";
import { startOrchestratorProcess } from "./orchestrator-process.ts";

const times = {
  ...{ DROVER_AFTER_TASK_POLL_MS: "50", DROVER_AFTER_TASK_BACKOFF_MS: "50" },
  ...{ DROVER_AFTER_TASK_TIMEOUT_MS: "1000", DROVER_AFTER_TASK_ATTEMPTS: "3" },
};
let harness: Harness;
let replica: Replica;
beforeAll(async () => {
  harness = await startHarness(echoScript);
  replica = await harness.orchestrator(times);
});
afterAll(async () => {
  await replica?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  harness.model.use(echoScript);
  Object.assign(harness.peers.facts, { on: true, down: false, delayMs: 0 });
});

interface AfterRow {
  readonly state: string;
  readonly attempts: number;
  readonly outcome: string;
  readonly problem: string;
}

async function rowOf(tenant: string, taskId: string): Promise<AfterRow | undefined> {
  await using db = openDatabase<Record<never, never>>({ url: harness.database.url, service: "orchestrator" });
  return await db.withTenant(tenant, async (tx) => {
    const found = await sql<AfterRow>`SELECT state, attempts, outcome, problem FROM after_task
      WHERE tenant_id = ${tenant} AND task_id = ${taskId}`.execute(tx);
    return found.rows[0];
  });
}

const untilState = (tenant: string, taskId: string, state: string) =>
  vi.waitUntil(async () => (await rowOf(tenant, taskId))?.state === state, { timeout: 30_000, interval: 50 });

const asked = (taskId: string) => harness.peers.facts.asked.filter((id) => id === taskId).length;

async function taskNow(tenant: string, taskId: string) {
  const { task } = await replica.client.getTask({ taskId }, replica.as(tenant));
  if (task === undefined) throw new Error("no task");
  return task;
}

test("a task that has ended is told to long-term memory once, and what that takes is the task's", async () => {
  const { id } = await submit(replica, "after", "Remember that I like tea");
  const done = await ended(replica, "after", id);
  await untilState("after", id, "DONE");
  const now = await taskNow("after", id);
  expect(asked(id)).toBe(1);
  expect(now.memoryUsage).toMatchObject({ inputTokens: 100n, outputTokens: 10n });
  expect(now.usage?.inputTokens).toBeGreaterThan(100n);
  expect(Number(now.usage?.inputTokens)).toBe(Number((await agentTokens("after", id)) + 100n));
  expect([now.state, now.version, now.lastSequence]).toEqual([done.state, done.version, done.lastSequence]);
  expect(harness.peers.facts.subjects).toContain("after/alice/memory:write");
  expect(await rowOf("after", id)).toMatchObject({ attempts: 1, outcome: "EXTRACTED", problem: "" });
});

async function agentTokens(tenant: string, taskId: string): Promise<bigint> {
  const { steps } = await replica.client.listSteps({ taskId }, replica.as(tenant));
  return steps.reduce((sum, step) => sum + (step.usage?.inputTokens ?? 0n), 0n);
}

test("a task that was cancelled is never told", async () => {
  harness.model.use(() => ({ text: "late", delayMs: 60_000 }));
  const before = harness.model.requests.length;
  const { id } = await submit(replica, "cancelled", "Stop");
  await until(() => harness.model.requests.length > before);
  await replica.client.cancelTask({ taskId: id }, replica.as("cancelled"));
  expect(stateName((await ended(replica, "cancelled", id)).state)).toBe("CANCELLED");
  harness.model.use(echoScript);
  const later = await submit(replica, "cancelled", "Go on");
  await ended(replica, "cancelled", later.id);
  await untilState("cancelled", later.id, "DONE");
  expect([asked(id), await rowOf("cancelled", id)]).toEqual([0, undefined]);
});

test("memory that is away is asked again, so often and not more; the task's end stays what it is", async () => {
  const { facts } = harness.peers;
  facts.down = true;
  const { id } = await submit(replica, "away", "Tea");
  expect(stateName((await ended(replica, "away", id)).state)).toBe("SUCCEEDED");
  await untilState("away", id, "GIVEN_UP");
  expect(asked(id)).toBe(3);
  expect((await rowOf("away", id))?.problem).toContain("The model is away.");
  const second = await submit(replica, "away", "Tea again");
  await until(() => asked(second.id) === 1);
  facts.down = false;
  await untilState("away", second.id, "DONE");
  expect((await taskNow("away", second.id)).memoryUsage?.inputTokens).toBe(100n);
});

test("a task that is gone on with is told at its real end, and its cost counts once", async () => {
  const declined: Script = () => ({ text: "", finishReason: "content_filter" });
  harness.model.use(declined);
  const { id } = await submit(replica, "resumed", "Tea");
  expect(stateName((await ended(replica, "resumed", id)).state)).toBe("FAILED");
  expect((await rowOf("resumed", id))?.state).toBe("DUE");
  harness.model.use(() => ({ text: "at last", delayMs: 500 }));
  await replica.client.resumeTask({ taskId: id }, replica.as("resumed"));
  expect((await rowOf("resumed", id))?.state).toBe("WITHDRAWN");
  expect(stateName((await ended(replica, "resumed", id)).state)).toBe("SUCCEEDED");
  await untilState("resumed", id, "DONE");
  expect(asked(id)).toBe(1);
  const now = await taskNow("resumed", id);
  expect(Number(now.usage?.inputTokens)).toBe(Number((await agentTokens("resumed", id)) + 100n));
});

test("a task that was told of at one end and is gone on with is told of at the next, and what memory took in all counts once", async () => {
  harness.model.use(() => ({ text: "", finishReason: "content_filter" }));
  const { id } = await submit(replica, "twice", "Tea");
  expect(stateName((await ended(replica, "twice", id)).state)).toBe("FAILED");
  await untilState("twice", id, "DONE");
  harness.model.use(echoScript);
  await replica.client.resumeTask({ taskId: id }, replica.as("twice"));
  await ended(replica, "twice", id);
  await until(() => asked(id) === 2);
  await untilState("twice", id, "DONE");
  const now = await taskNow("twice", id);
  expect(now.memoryUsage).toMatchObject({ inputTokens: 100n, costNanoUsd: 5n });
  expect(Number(now.usage?.inputTokens)).toBe(Number((await agentTokens("twice", id)) + 100n));
});

test("an orchestrator that is killed between the end and the extraction: another one does it, once", async () => {
  const { facts } = harness.peers;
  facts.delayMs = 600_000;
  await replica[Symbol.asyncDispose]();
  await using first = await startOrchestratorProcess({ ...harness.environment, ...times });
  await using front = harness.connect(first.address);
  const { id } = await submit(front, "killed", "Tea");
  expect(stateName((await ended(front, "killed", id)).state)).toBe("SUCCEEDED");
  await until(() => asked(id) === 1);
  first.kill("SIGKILL");
  await first.exited;
  facts.delayMs = 0;
  replica = await harness.orchestrator(times);
  await untilState("killed", id, "DONE");
  expect([asked(id), facts.looked.has(id), (await rowOf("killed", id))?.attempts]).toEqual([2, true, 2]);
  const now = await taskNow("killed", id);
  expect(Number(now.usage?.inputTokens)).toBe(Number((await agentTokens("killed", id)) + 100n));
});

test("with the slots of the worker all taken, what is due after an end is still done", async () => {
  await using narrow = await harness.orchestrator({ ...times, DROVER_WORKER_SLOTS: "1", DROVER_TENANT_RUNNING: "1" });
  const { id } = await submit(narrow, "slots", "Tea");
  await ended(narrow, "slots", id);
  harness.model.use(() => ({ text: "late", delayMs: 60_000 }));
  const before = harness.model.requests.length;
  const held = await submit(narrow, "slots", "Hold the slot");
  await until(() => harness.model.requests.length > before);
  await untilState("slots", id, "DONE");
  await narrow.client.cancelTask({ taskId: held.id }, narrow.as("slots"));
  await ended(narrow, "slots", held.id);
});
