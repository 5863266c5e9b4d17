import { create } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { BadRequestSchema } from "@drover/proto/google/rpc/error_details";
import type { Mode } from "@drover/proto/orchestrator/v1/task";
import { SubmitTaskRequestSchema, TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { freePorts } from "@drover/suite";
import { startNats } from "@drover/testkit";
import { callsScript, echoScript } from "@drover/testkit/scripted-model";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connectClient, grpcCall, grpcClient, submit, untilEnded, withKey } from "./src/clients.ts";
import { type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";

const failure = (call: Promise<unknown>) =>
  call.then(
    () => expect.unreachable("the call should have failed"),
    (error: unknown) => ConnectError.from(error),
  );

describe("bad input", () => {
  let suite: SuiteUnderTest;
  beforeAll(async () => {
    suite = await startSuite("distributed", { script: echoScript });
  });
  afterAll(async () => await suite?.[Symbol.asyncDispose]());

  test("an unknown enum value is refused with field, found and allowed", async () => {
    const error = await failure(
      connectClient(TaskService, suite.url, suite.apiKey).submitTask({ prompt: "x", mode: 99 as Mode }),
    );
    expect(error.code).toBe(Code.InvalidArgument);
    const [details] = error.findDetails(BadRequestSchema);
    expect(details?.fieldViolations).toEqual([
      expect.objectContaining({ field: "mode", description: expect.stringMatching(/found .*99.*allowed .*REACT/) }),
    ]);
  });

  test("an oversized message is RESOURCE_EXHAUSTED over gRPC and Connect, and the service lives on", async () => {
    const prompt = "x".repeat(6 * 1024 * 1024);
    using client = grpcClient(suite.url);
    const request = create(SubmitTaskRequestSchema, { prompt });
    await expect(grpcCall(client, TaskService.method.submitTask, request, suite.apiKey)).rejects.toMatchObject({
      code: status.RESOURCE_EXHAUSTED,
    });
    const error = await failure(connectClient(TaskService, suite.url, suite.apiKey).submitTask({ prompt }));
    expect(error.code).toBe(Code.ResourceExhausted);
    expect((await connectClient(TaskService, suite.url, suite.apiKey).listTasks({})).tasks).toBeDefined();
  });

  test.each(["", "drv_nonsense", "drv_00000000_00000000000000000000000000000000"])(
    "the key %j is UNAUTHENTICATED and the answer says how to authenticate",
    async (key) => {
      const error = await failure(connectClient(TaskService, suite.url, key).listTasks({}));
      expect(error.code).toBe(Code.Unauthenticated);
      expect(error.rawMessage).toMatch(/authorization/i);
      using client = grpcClient(suite.url);
      const request = create(SubmitTaskRequestSchema, { prompt: "x" });
      await expect(grpcCall(client, TaskService.method.submitTask, request, key)).rejects.toMatchObject({
        code: status.UNAUTHENTICATED,
      });
    },
  );

  test("an unknown language is refused with the allowed ones", async () => {
    const exec = connectClient(ExecService, suite.url, suite.apiKey);
    const run = async () => {
      for await (const _ of exec.run({ callId: crypto.randomUUID(), language: "cobol", code: "x" }));
    };
    const error = await failure(run());
    expect(error.code).toBe(Code.InvalidArgument);
    expect(error.rawMessage).toMatch(/language.*cobol.*allowed.*python/s);
  });

  test.each(["", "a.b", "a*", ">", "a\r\nPUB x 0", "../x", "x".repeat(200)])(
    "the task id %j never reaches the bus and is refused",
    async (taskId) => {
      const tasks = connectClient(TaskService, suite.url, suite.apiKey);
      for (const call of [() => tasks.getTask({ taskId }), () => tasks.cancelTask({ taskId })]) {
        expect((await failure(call())).code).toBe(Code.InvalidArgument);
      }
    },
  );

  test("a refused upload is data that names the check, and nothing is stored", async () => {
    const documents = createClient(
      DocumentService,
      createGrpcTransport({ baseUrl: suite.url, interceptors: [withKey(suite.apiKey)] }),
    );
    const { result } = await documents.uploadDocument(
      (async function* () {
        yield { part: { case: "header", value: { name: "report.exe" } } } as const;
        yield { part: { case: "chunk", value: Buffer.from("MZ") } } as const;
      })(),
    );
    expect(result).toMatchObject({
      case: "refusal",
      value: { check: "extension", allowed: expect.stringContaining("md") },
    });
    expect((await documents.listDocuments({})).documents).toEqual([]);
  });
});

describe("dead dependencies", () => {
  test("a dead model endpoint fails the task with a reason, and the next one works", async () => {
    const [port] = await freePorts(1);
    await using suite = await startSuite("embedded", {
      script: echoScript,
      environment: { OPENAI_BASE_URL: `http://127.0.0.1:${port}/v1` },
    });
    const task = await submit(suite.url, suite.apiKey, "Hello?");
    const ended = await untilEnded(suite.url, suite.apiKey, task.id, 90_000);
    expect(ended).toMatchObject({ state: TaskState.FAILED, failureReason: "MODEL_UNAVAILABLE" });
    expect(ended.failureMessage).toContain(`127.0.0.1:${port}`);
    expect((await connectClient(TaskService, suite.url, suite.apiKey).listTasks({})).tasks).toHaveLength(1);
  });

  test("without a Docker daemon runs answer UNAVAILABLE and say what to do, and tasks go on", async () => {
    await using suite = await startSuite("embedded", {
      script: callsScript([{ name: "run_code", arguments: { language: "python", code: "print(1)" } }]),
      environment: { DOCKER_HOST: "unix:///nonexistent/docker.sock" },
    });
    const exec = connectClient(ExecService, suite.url, suite.apiKey);
    const health = await exec.checkHealth({});
    expect(health).toMatchObject({
      ready: false,
      problem: expect.stringMatching(/\w/),
      advice: expect.stringMatching(/\w/),
    });
    const run = async () => {
      for await (const _ of exec.run({ callId: crypto.randomUUID(), language: "python", code: "print(1)" }));
    };
    expect((await failure(run())).code).toBe(Code.Unavailable);
    const task = await submit(suite.url, suite.apiKey, "Run it.");
    const ended = await untilEnded(suite.url, suite.apiKey, task.id);
    expect(ended.state).toBe(TaskState.SUCCEEDED);
    expect(ended.answer).toMatch(/unavailable|daemon/i);
  });

  test("with a dead NATS tasks still end and are watched; when it is back everything catches up", async () => {
    await using nats = await startNats();
    await using suite = await startSuite("distributed", { script: echoScript, environment: { NATS_URL: nats.url } });
    await nats.stop();
    const task = await submit(suite.url, suite.apiKey, "Without a bus.");
    const ended = await untilEnded(suite.url, suite.apiKey, task.id, 60_000);
    expect(ended.state).toBe(TaskState.SUCCEEDED);
    await nats.start();
    const next = await submit(suite.url, suite.apiKey, "With a bus.");
    expect((await untilEnded(suite.url, suite.apiKey, next.id, 60_000)).state).toBe(TaskState.SUCCEEDED);
  });
});
