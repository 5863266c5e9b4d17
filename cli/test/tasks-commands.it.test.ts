import type { ConnectRouter } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { TaskState, ToolCallState } from "@drover/proto/event/v1/task_event";
import { type ResumeTaskRequest, TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { expect, test } from "vitest";
import { startDrover } from "./drover-process.ts";
import { startFakeGateway } from "./fake-gateway.ts";

const id = "0192f3a1-7c3e-7a52-9a0e-3f1d2b4c5d6e";
const other = "0192f3a1-7c3e-7a52-9a0e-000000000002";

function served() {
  const seen: { resumed?: ResumeTaskRequest; readonly deleted: string[] } = { deleted: [] };
  const serve = (router: ConnectRouter) => {
    router.service(TaskService, {
      resumeTask(request) {
        seen.resumed = request;
        if (request.taskId !== id) throw new DroverError("FAILED_PRECONDITION", "The task has succeeded. Rerun it.");
        return { task: { id, state: TaskState.RUNNING } };
      },
      rerunTask: ({ taskId }) => ({ task: { id: other, rerunOf: taskId } }),
      deleteTask({ taskId }) {
        seen.deleted.push(taskId);
        return {};
      },
      listTransitions: ({ pageToken }) =>
        pageToken === ""
          ? { transitions: [{ version: 1n, to: TaskState.CREATED, actor: "alice" }], nextPageToken: "2" }
          : { transitions: [{ version: 7n, to: TaskState.CANCELLED, actor: "bob", reason: "enough" }] },
      listSteps: () => ({
        steps: [
          { seq: 1n, kind: "prompt", text: "Say\u001b[31m it." },
          { seq: 2n, kind: "turn", decision: "tool_calls" },
        ],
      }),
      listToolCalls: () => ({
        toolCalls: [
          {
            stepSeq: 2n,
            tool: "grep",
            state: ToolCallState.SUCCEEDED,
            summary: "3 hits",
            durationMs: 12n,
            endedAt: { seconds: 1n },
          },
        ],
      }),
    });
  };
  return { seen, serve };
}

async function run(words: readonly string[], gateway: { readonly url: string }) {
  const { code, stdout, stderr } = await startDrover([...words, "--url", gateway.url]).ended;
  return { code, out: stdout.toString(), err: stderr };
}

test("resume sends the budgets that were given, and says how to watch", async () => {
  const { seen, serve } = served();
  await using gateway = await startFakeGateway(serve);
  const { code, out } = await run(
    ["tasks", "resume", id, "--rounds", "20", "--tokens", "9000", "--cost", "0.5"],
    gateway,
  );
  expect({ code, out }).toEqual({ code: 0, out: `task ${id} goes on; watch it: drover tail ${id}\n` });
  expect(seen.resumed).toMatchObject({
    taskId: id,
    budgets: { maxRounds: 20, maxTokens: 9000n, maxCostNanoUsd: 500_000_000n },
  });
  const refused = await run(["tasks", "resume", other], gateway);
  expect(refused.code).not.toBe(0);
  expect(refused.err.toString()).toContain("The task has succeeded. Rerun it.");
});

test("rerun names the new task, delete says what is gone", async () => {
  const { seen, serve } = served();
  await using gateway = await startFakeGateway(serve);
  expect((await run(["tasks", "rerun", id], gateway)).out).toContain(`drover tail ${other}`);
  const json = await run(["tasks", "rerun", id, "--json"], gateway);
  expect(JSON.parse(json.out)).toMatchObject({ task: { id: other, rerunOf: id } });
  expect((await run(["tasks", "delete", id], gateway)).out).toBe(`task ${id} is deleted\n`);
  expect(JSON.parse((await run(["tasks", "delete", id, "--json"], gateway)).out)).toEqual({ taskId: id });
  expect(seen.deleted).toEqual([id, id]);
});

test("records come from every page, one line each, with what a terminal would act on escaped", async () => {
  await using gateway = await startFakeGateway(served().serve);
  expect((await run(["tasks", "transitions", id], gateway)).out).toMatch(
    /^ {2}1 +created +by alice\n {2}7 +cancelled +by bob: enough\n$/,
  );
  const steps = (await run(["tasks", "steps", id], gateway)).out;
  expect(steps).toMatch(/^ {2}1 +prompt +Say.*it\.\n {2}2 +tool calls\n$/);
  expect(steps).not.toContain("\u001b");
  expect((await run(["tasks", "calls", id], gateway)).out).toMatch(/^ {2}2 +grep +succeeded · 3 hits +12 ms\n$/);
  const json = JSON.parse((await run(["tasks", "transitions", id, "--json"], gateway)).out);
  expect(json.transitions.map((t: { version: string }) => t.version)).toEqual(["1", "7"]);
});
