import { TaskState } from "@drover/proto/event/v1/task_event";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { type ServiceName, serviceNames } from "@drover/suite";
import { callsScript, echoScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connectClient, submit, untilEnded } from "./src/clients.ts";
import { containersOf, containersOfTask } from "./src/docker.ts";
import { type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";
import { watch } from "./src/watch.ts";

const sleepThenPrint = callsScript([
  { name: "run_code", arguments: { language: "python", code: "import time\ntime.sleep(4)\nprint(6 * 7)" } },
]);

describe("the embedded profile", () => {
  let suite: SuiteUnderTest;
  beforeAll(async () => {
    suite = await startSuite("embedded", { script: sleepThenPrint });
  });
  afterAll(async () => await suite?.[Symbol.asyncDispose]());

  test("kill -9 in mid-task, a restart, and the task ends with the same answer", async () => {
    const undisturbed = await submit(suite.url, suite.apiKey, "Compute.");
    const expected = await untilEnded(suite.url, suite.apiKey, undisturbed.id);
    expect(expected.state).toBe(TaskState.SUCCEEDED);
    expect(expected.answer).toContain("42");

    const task = await submit(suite.url, suite.apiKey, "Compute.");
    await expect.poll(() => containersOfTask(task.id), { timeout: 20_000 }).toHaveLength(1);
    await suite.killAndRestart?.();
    const ended = await untilEnded(suite.url, suite.apiKey, task.id, 90_000);
    expect(ended.state).toBe(TaskState.SUCCEEDED);
    expect(outcomeOf(ended.answer)).toBe(outcomeOf(expected.answer));
    expect(ended.attempt).toBeGreaterThan(1);
    const events = await watch(suite, task.id);
    expect(events.map((event) => Number(event.sequence))).toEqual(events.map((_, i) => i + 1));
    expect(events.filter((event) => event.event.case === "toolCallCompleted")).toHaveLength(1);
    await expect.poll(() => containersOf(suite), { timeout: 20_000 }).toHaveLength(0);
  });
});

describe("the distributed profile", () => {
  let suite: SuiteUnderTest;
  beforeAll(async () => {
    suite = await startSuite("distributed", { script: echoScript });
  });
  afterAll(async () => await suite?.[Symbol.asyncDispose]());

  test.each(serviceNames)("killing %s and starting it again leaves the suite working", async (name: ServiceName) => {
    suite.model.use(sleepThenPrint);
    const running = await submit(suite.url, suite.apiKey, "Compute.");
    await expect.poll(() => containersOfTask(running.id), { timeout: 20_000 }).toHaveLength(1);
    await suite.processes?.kill(name, "SIGKILL");
    await suite.processes?.start(name);
    const ended = await untilEnded(suite.url, suite.apiKey, running.id, 90_000);
    expect(ended.state).toBe(TaskState.SUCCEEDED);
    const after = await submit(suite.url, suite.apiKey, "Compute.");
    const fresh = await untilEnded(suite.url, suite.apiKey, after.id, 60_000);
    expect(fresh.answer).toContain("42");
    await expect.poll(() => containersOf(suite), { timeout: 20_000 }).toHaveLength(0);
  });

  test("a service drains on SIGTERM and a watcher resumes without gap or duplicate", async () => {
    suite.model.use(sleepThenPrint);
    const task = await submit(suite.url, suite.apiKey, "Compute.");
    const sequences: bigint[] = [];
    const follow = async () => {
      const tasks = connectClient(TaskService, suite.url, suite.apiKey);
      const afterSequence = sequences.at(-1) ?? 0n;
      for await (const { message } of tasks.watchTask({ taskId: task.id, afterSequence })) {
        if (message.case !== "event") continue;
        sequences.push(message.value.sequence);
        if (message.value.event.case === "taskCompleted") return true;
      }
      return false;
    };
    const first = follow().catch(() => false);
    await expect.poll(() => sequences.length, { timeout: 10_000 }).toBeGreaterThan(0);
    await suite.processes?.kill("orchestrator", "SIGTERM");
    await suite.processes?.start("orchestrator");
    const complete =
      (await first) || (await vi.waitUntil(() => follow().catch(() => false), { timeout: 30_000, interval: 250 }));
    expect(complete).toBe(true);
    expect(sequences).toEqual(sequences.map((_, i) => BigInt(i + 1)));
    const { executions } = await connectClient(ExecService, suite.url, suite.apiKey).listExecutions({
      taskId: task.id,
    });
    expect(executions).toHaveLength(1);
  });
});

/** The part of an answer that does not differ between runs: no durations, no ids. */
function outcomeOf(answer: string): string {
  return answer.replaceAll(/\d+(\.\d+)? ?(ms|s)\b/g, "…").replaceAll(/[0-9a-f-]{36}/g, "…");
}
