import { randomUUID } from "node:crypto";
import { create } from "@bufbuild/protobuf";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { SubmitTaskRequestSchema, TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { callsScript, echoScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectClient, grpcCall, grpcClient, submit, untilEnded } from "./src/clients.ts";
import { containersOfTask } from "./src/docker.ts";
import { type Profile, type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";
import { watch } from "./src/watch.ts";

const profiles: readonly Profile[] = ["embedded", "distributed"];

describe.each(profiles)("tasks on the %s profile", (profile) => {
  let suite: SuiteUnderTest;
  beforeAll(async () => {
    suite = await startSuite(profile, { script: echoScript });
  });
  afterAll(async () => await suite?.[Symbol.asyncDispose]());

  test("a plain grpc-js client submits, watches and gets the answer", async () => {
    suite.model.use(echoScript);
    using client = grpcClient(suite.url);
    const request = create(SubmitTaskRequestSchema, { prompt: "Say hello.", requestId: randomUUID() });
    const { task } = await grpcCall(client, TaskService.method.submitTask, request, suite.apiKey);
    const events = await watch(suite, task?.id ?? "");
    expect(events.map((event) => event.sequence)).toEqual(events.map((_, i) => BigInt(i + 1)));
    expect(events.at(-1)?.event).toMatchObject({
      case: "taskCompleted",
      value: { state: TaskState.SUCCEEDED, answer: expect.stringContaining("You said: Say hello.") },
    });
    const again = await grpcCall(client, TaskService.method.submitTask, request, suite.apiKey);
    expect(again.task?.id).toBe(task?.id);
  });

  test("results of parallel calls come back in call order, whatever order they finish in", async () => {
    const python = (code: string) => ({ name: "run_code", arguments: { language: "python", code } });
    suite.model.use(
      callsScript([
        python("import time; time.sleep(1.5); print('slow')"),
        { name: "list_directory", arguments: { path: "/workspace" } },
        python("print('fast')"),
      ]),
    );
    const task = await submit(suite.url, suite.apiKey, "Run three things.");
    const ended = await untilEnded(suite.url, suite.apiKey, task.id);
    expect(ended.state).toBe(TaskState.SUCCEEDED);
    const lines = ended.answer.split(/^(?=[123]\. )/m);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toContain("slow");
    expect(lines[2]).toContain("fast");
  });

  test("a cancel in the middle of a container run removes the container within 5 s", async () => {
    suite.model.use(
      callsScript([{ name: "run_code", arguments: { language: "python", code: "import time\ntime.sleep(600)" } }]),
    );
    const task = await submit(suite.url, suite.apiKey, "Sleep.");
    await expect.poll(() => containersOfTask(task.id), { timeout: 20_000 }).toHaveLength(1);
    const tasks = connectClient(TaskService, suite.url, suite.apiKey);
    await tasks.cancelTask({ taskId: task.id, reason: "seen enough" });
    await expect.poll(() => containersOfTask(task.id), { timeout: 5_000 }).toHaveLength(0);
    const ended = await untilEnded(suite.url, suite.apiKey, task.id, 10_000);
    expect(ended.state).toBe(TaskState.CANCELLED);
    const events = await watch(suite, task.id);
    expect(events.at(-1)?.event).toMatchObject({ case: "taskCompleted", value: { state: TaskState.CANCELLED } });
    const { executions } = await connectClient(ExecService, suite.url, suite.apiKey).listExecutions({
      taskId: task.id,
    });
    expect(executions.map((execution) => execution.killedBy)).toEqual(["cancel"]);
    const repeated = await tasks.cancelTask({ taskId: task.id, reason: "again" });
    expect(repeated.task?.state).toBe(TaskState.CANCELLED);
  });

  test("200 watchers on one task do not hold up a unary call", async () => {
    // The watches end with the task, which only the cancel ends.
    suite.model.use(() => ({ text: "done", delayMs: 600_000 }));
    const task = await submit(suite.url, suite.apiKey, "Take your time.");
    const abort = new AbortController();
    const tasks = connectClient(TaskService, suite.url, suite.apiKey);
    const begun = new Set<number>();
    const watchers = Array.from({ length: 200 }, async (_, watcher) => {
      for await (const _ of tasks.watchTask({ taskId: task.id }, { signal: abort.signal })) begun.add(watcher);
    });
    const watched = Promise.allSettled(watchers);
    await expect.poll(() => begun.size, { timeout: 20_000 }).toBe(200);
    for (let i = 0; i < 11; i++) await tasks.getTask({ taskId: task.id }, { timeoutMs: 20_000 });
    await tasks.cancelTask({ taskId: task.id });
    expect((await watched).filter(({ status }) => status === "rejected")).toEqual([]);
    abort.abort();
  });
});
