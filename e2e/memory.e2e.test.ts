import { TaskState } from "@drover/proto/event/v1/task_event";
import { FactScope, FactService } from "@drover/proto/memory/v1/fact_service";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import { echoScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connectClient, submit, untilEnded } from "./src/clients.ts";
import { type Profile, type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";

const profiles: readonly Profile[] = ["embedded", "distributed"];
const patience = { timeout: 30_000, interval: 100 };

async function factsOf({ url, apiKey }: SuiteUnderTest) {
  return (await connectClient(FactService, url, apiKey).listFacts({})).facts;
}

const untilRemembered = (suite: SuiteUnderTest, text: string) =>
  vi.waitUntil(async () => (await factsOf(suite).catch(() => [])).find((fact) => fact.text === text), patience);

describe.each(profiles)("long-term memory on the %s profile", (profile) => {
  let suite: SuiteUnderTest;
  beforeAll(async () => {
    suite = await startSuite(profile, {
      script: echoScript,
      environment: { DROVER_AFTER_TASK_POLL_MS: "200", DROVER_AFTER_TASK_TIMEOUT_MS: "2000" },
    });
  });
  afterAll(async () => await suite?.[Symbol.asyncDispose]());

  test("what a person asks to be remembered is a fact of theirs after the end, accounted and traced; and can be forgotten", async () => {
    const words = "the invoices go to Ada";
    const { id } = await submit(suite.url, suite.apiKey, `Remember that ${words}. Say hello.`);
    const task = await untilEnded(suite.url, suite.apiKey, id);
    expect(task.state).toBe(TaskState.SUCCEEDED);
    const fact = await untilRemembered(suite, words);
    expect(fact).toMatchObject({ scope: FactScope.USER, taskId: id, conversationId: task.conversationId });
    const tasks = connectClient(TaskService, suite.url, suite.apiKey);
    const accounted = async () => (await tasks.getTask({ taskId: id })).task?.memoryUsage;
    expect((await vi.waitUntil(accounted, patience)).inputTokens).toBeGreaterThan(0n);
    const traces = connectClient(TraceService, suite.url, suite.apiKey);
    const names = async () => (await traces.getTrace({ traceId: task.traceId })).spans.map(({ name }) => name);
    await expect.poll(names, patience).toEqual(expect.arrayContaining(["long-term memory", "extract facts"]));
    await connectClient(FactService, suite.url, suite.apiKey).deleteFact({ factId: fact?.id ?? "" });
    expect((await factsOf(suite)).filter(({ text }) => text === words)).toEqual([]);
  });

  test("killed between the end and the extraction, it happens once", async () => {
    const words = "the cat is called Kim";
    const remember = { op: "add", scope: "user", text: words, importance: 90, source: 1 };
    suite.model.extractBy(() => ({ text: JSON.stringify({ facts: [remember] }), delayMs: 60_000 }));
    const before = suite.model.extractions.length;
    const { id } = await submit(suite.url, suite.apiKey, "The cat is called Kim.");
    await untilEnded(suite.url, suite.apiKey, id);
    await vi.waitUntil(() => suite.model.extractions.length > before, patience);
    if (suite.processes === undefined) await suite.killAndRestart?.();
    else {
      await suite.processes.kill("orchestrator", "SIGKILL");
      await suite.processes.start("orchestrator");
    }
    suite.model.extractBy(() => ({ text: JSON.stringify({ facts: [remember] }) }));
    await untilRemembered(suite, words);
    const tasks = connectClient(TaskService, suite.url, suite.apiKey);
    await vi.waitUntil(async () => (await tasks.getTask({ taskId: id })).task?.memoryUsage, patience);
    expect((await factsOf(suite)).filter(({ text }) => text === words)).toHaveLength(1);
  });

  test("a task that was cancelled is not looked at", async () => {
    suite.model.use(() => ({ text: "late", delayMs: 60_000 }));
    const requests = suite.model.requests.length;
    const cancelled = await submit(suite.url, suite.apiKey, "Remember that this was a secret plan.");
    await vi.waitUntil(() => suite.model.requests.length > requests, patience);
    const asked: unknown[] = [];
    suite.model.extractBy((messages) => {
      asked.push(messages[1]?.content);
      const last = { op: "add", scope: "user", text: "the last word", importance: 90, source: 1 };
      return { text: JSON.stringify({ facts: [last] }) };
    });
    await connectClient(TaskService, suite.url, suite.apiKey).cancelTask({ taskId: cancelled.id });
    expect((await untilEnded(suite.url, suite.apiKey, cancelled.id)).state).toBe(TaskState.CANCELLED);
    suite.model.use(echoScript);
    await submit(suite.url, suite.apiKey, "The last word.");
    await untilRemembered(suite, "the last word");
    expect(asked.join("\n")).not.toContain("secret plan");
  });
});
