import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ConnectRouter, HandlerContext } from "@connectrpc/connect";
import { DroverError, invalidField, notFound } from "@drover/kernel";
import { type TaskEvent, type TaskEventSchema, TaskState, ToolCallState } from "@drover/proto/event/v1/task_event";
import { Mode } from "@drover/proto/orchestrator/v1/task";
import {
  type SubmitTaskRequest,
  TaskService,
  type WatchTaskResponse,
  type WatchTaskResponseSchema,
} from "@drover/proto/orchestrator/v1/task_service";
import { type PutFilesRequest, WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { expect, test } from "vitest";
import { startDrover } from "./drover-process.ts";
import { startFakeGateway, thrown, untilLeft } from "./fake-gateway.ts";

type EventInit = NonNullable<Exclude<MessageInitShape<typeof TaskEventSchema>, TaskEvent>["event"]>;
type Answer = Exclude<MessageInitShape<typeof WatchTaskResponseSchema>, WatchTaskResponse>;

const id = "0192f3a1-7c3e-7a52-9a0e-3f1d2b4c5d6e";
const answer = "It is 42.";
const taskIn = (state: TaskState) => ({ id, state, mode: Mode.REACT, model: "scripted", round: 1, answer });
const done: EventInit = { case: "taskCompleted", value: { state: TaskState.SUCCEEDED, answer } };
const says = (text: string): EventInit => ({ case: "assistantMessage", value: { text } });
const eventOf = (sequence: bigint, event: EventInit): Answer => ({
  message: { case: "event", value: { taskId: id, sequence, round: 1, event } },
});

interface Seen {
  submitted?: SubmitTaskRequest;
  put?: PutFilesRequest;
  readonly watchedAfter: bigint[];
}

type Watch = (after: bigint, attempt: number, context: HandlerContext) => AsyncGenerator<Answer>;

function served(outcome: TaskState, watch: Watch): { seen: Seen; serve: (router: ConnectRouter) => void } {
  const seen: Seen = { watchedAfter: [] };
  const serve = (router: ConnectRouter) => {
    router.service(TaskService, {
      submitTask(request) {
        seen.submitted = request;
        if (request.maxRounds > 50) throw invalidField("max_rounds", String(request.maxRounds), "1 to 50");
        return { task: taskIn(TaskState.CREATED) };
      },
      getTask({ taskId }) {
        if (taskId !== id) throw notFound("task", taskId);
        return { task: taskIn(outcome) };
      },
      listTasks: () => ({ tasks: [taskIn(outcome)] }),
      cancelTask: ({ reason }) => ({ task: { ...taskIn(TaskState.RUNNING), cancelRequested: reason === "enough" } }),
      async *watchTask({ afterSequence }, context) {
        seen.watchedAfter.push(afterSequence);
        yield* watch(afterSequence, seen.watchedAfter.length, context);
      },
    });
    router.service(WorkspaceService, {
      createWorkspace: () => ({ workspace: { id: "w1" } }),
      putFiles(request) {
        seen.put = request;
        return {};
      },
    });
  };
  return { seen, serve };
}

const wholeRun: Watch = async function* () {
  yield eventOf(1n, says("Compute it."));
  yield eventOf(2n, { case: "toolCallRequested", value: { callId: "c", tool: "run_code" } });
  yield eventOf(3n, {
    case: "toolCallCompleted",
    value: { callId: "c", tool: "run_code", summary: "exit code 0", state: ToolCallState.SUCCEEDED, durationMs: 5n },
  });
  yield eventOf(4n, done);
};

test("run uploads files by their names, submits what it was told and prints plain lines", async () => {
  const { seen, serve } = served(TaskState.SUCCEEDED, wholeRun);
  await using gateway = await startFakeGateway(serve);
  const folder = mkdtempSync(join(tmpdir(), "drover-cli-"));
  try {
    writeFileSync(join(folder, "orders.json"), "[1]");
    const words = ["run", "What is it?", "--file", join(folder, "orders.json"), "--rounds", "7", "--url", gateway.url];
    const { code, stdout, stderr } = await startDrover([...words, "--collection", "shop"]).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.toString()).toMatch(
      /^task 0192f3a1-7c3e · react · scripted · http.*\/t\/0192f3a1-.*\n\n 1 {2}thinking {3}Compute it\.\n {4}run_code +exit code 0 +5 ms\n\nIt is 42\.\n\nsucceeded · 1 round\n$/,
    );
    expect(stdout.toString()).not.toContain("\x1b");
  } finally {
    rmSync(folder, { recursive: true });
  }
  expect(seen.submitted).toMatchObject({
    prompt: "What is it?",
    mode: Mode.REACT,
    maxRounds: 7,
    workspaceId: "w1",
    collection: "shop",
  });
  const put = seen.put?.files.map(({ path, content }) => [path, Buffer.from(content).toString()]);
  expect(put).toEqual([["orders.json", "[1]"]]);
});

test("run --json prints one document; a task that failed is exit code 1", async () => {
  const { serve } = served(TaskState.FAILED, wholeRun);
  await using gateway = await startFakeGateway(serve);
  const { code, stdout } = await startDrover(["--json", "run", "x"], { DROVER_URL: gateway.url }).ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout.toString())).toMatchObject({
    task: { id, state: "TASK_STATE_FAILED" },
    answer,
    events: [{ sequence: "1" }, { sequence: "2" }, { sequence: "3" }, { sequence: "4" }],
  });
});

test("a watch that breaks is resumed after the last event, and says so", async () => {
  const { seen, serve } = served(TaskState.SUCCEEDED, async function* (after, attempt) {
    if (attempt === 1) {
      yield eventOf(1n, says("Once."));
      throw thrown(new DroverError("UNAVAILABLE", "The server is stopping."));
    }
    yield eventOf(after, says("Once."));
    yield eventOf(after + 1n, done);
  });
  await using gateway = await startFakeGateway(serve);
  const { code, stdout, stderr } = await startDrover(["tail", "0192f3a1", "--json", "--url", gateway.url]).ended;
  expect(code).toBe(0);
  expect(seen.watchedAfter).toEqual([0n, 1n]);
  expect(stderr).toContain("The stream of events broke: The server is stopping. Resuming in 0.25 s.");
  expect(JSON.parse(stdout.toString()).events.map(({ sequence }: { sequence: string }) => sequence)).toEqual([
    "1",
    "2",
  ]);
});

test("Ctrl-C leaves the task running and says how to go on", async () => {
  const { serve } = served(TaskState.RUNNING, async function* (_, __, context) {
    yield eventOf(1n, { case: "toolCallCompleted", value: { callId: "c", tool: "slow_tool" } });
    await untilLeft(context);
  });
  await using gateway = await startFakeGateway(serve);
  const run = startDrover(["run", "x", "--url", gateway.url]);
  await run.prints("slow_tool");
  run.process.kill("SIGINT");
  const { code, stderr } = await run.ended;
  expect(code).toBe(130);
  expect(stderr).toBe(
    `Left task ${id}, which goes on.\nWatch it: drover tail ${id} --from 1\nStop it:  drover cancel ${id}\n`,
  );
});

test("cancel takes a short id and a reason", async () => {
  const { serve } = served(TaskState.RUNNING, wholeRun);
  await using gateway = await startFakeGateway(serve);
  const words = ["cancel", "0192f3a1", "--reason", "enough", "--json", "--url", gateway.url];
  const { code, stdout } = await startDrover(words).ended;
  expect({ code, ...JSON.parse(stdout.toString()) }).toMatchObject({ code: 0, task: { id, cancelRequested: true } });
});

test("what is wrong is said in two sentences and by the exit code", async () => {
  const { serve } = served(TaskState.SUCCEEDED, wholeRun);
  await using gateway = await startFakeGateway(serve);
  const at = { DROVER_URL: gateway.url };
  const usage = await startDrover(["run"], at).ended;
  expect(usage).toMatchObject({ code: 2, stderr: expect.stringContaining("missing required argument") });
  const refused = await startDrover(["run", "x", "--rounds", "99"], at).ended;
  expect(refused).toMatchObject({
    code: 2,
    stderr: "max_rounds: found 99, allowed 1 to 50\nChange the named field to what is allowed.\n",
  });
  const missing = await startDrover(["tail", id.replace("0192", "9999"), "--json"], at).ended;
  expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("was not found.\nCheck the id") });
  expect(JSON.parse(missing.stdout.toString())).toMatchObject({ error: { code: "NOT_FOUND" } });
  const auth = await startDrover(["run", "x"], { ...at, DROVER_API_KEY: "drv_wrong" }).ended;
  expect(auth).toMatchObject({ code: 4, stderr: expect.stringContaining("not accept the key from DROVER_API_KEY") });
  expect(auth.stderr).not.toContain("drv_wrong");
  const alone = await startDrover(["run", "x"], { DROVER_URL: "http://127.0.0.1:9" }).ended;
  expect(alone).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(/^No gateway answers at http:\S+:9\.\nStart /),
  });
});
