import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { AccountService } from "@drover/proto/gateway/v1/account_service";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import { PrivacyService } from "@drover/proto/orchestrator/v1/privacy_service";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import { actingAs, createIdentityMinter, createRpcTransport, droverErrorFrom, type IdentityKeys } from "@drover/rpc";
import type { Script } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connectClient, isTerminal } from "./src/clients.ts";
import { containersOfTask } from "./src/docker.ts";
import { type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";

/** A task that writes a long file and reads it, so that it leaves a workspace and a spill; or one that sleeps. */
const script: Script = (messages) => {
  const asked = messages.findLastIndex(({ role }) => role === "user");
  const results = messages.slice(asked + 1).filter(({ role }) => role === "tool").length;
  const slow = JSON.stringify(messages[asked]).includes("take your time");
  const code = slow ? "sleep 300" : "head -c 40000 /dev/zero | tr '\\0' x > kept.txt";
  if (results === 0) return { toolCalls: [{ name: "run_code", arguments: { language: "bash", code } }] };
  if (results === 1) return { toolCalls: [{ name: "read_file", arguments: { path: "/workspace/kept.txt" } }] };
  return { text: "It is done." };
};
const environment = { DROVER_PURGE_SETTLE_MS: "1500", DROVER_PURGE_POLL_MS: "200" };

const scopes =
  "tasks:read tasks:write exec:run exec:read memory:read memory:write documents:read documents:write traces:read privacy:read privacy:write";

/** Somebody who calls the services, past the gateway or through it. */
interface Voice extends AsyncDisposable {
  client<S extends DescService>(owner: string, service: S): Client<S>;
}

function throughGateway({ url, apiKey }: SuiteUnderTest): Voice {
  return {
    client: (_owner, service) => connectClient(service, url, apiKey),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

function voiceOf(suite: SuiteUnderTest, tenant: string, subject: string): Voice {
  const keys: IdentityKeys = JSON.parse(readFileSync(join(suite.dataFolder, "identity-keys.json"), "utf8"));
  const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
  const values = actingAs({ tenant, subject, scopes: scopes.split(" ") });
  const opened = new AsyncDisposableStack();
  return {
    client(owner, service) {
      const addresses = suite.addresses[owner] ?? "";
      const transport = opened.use(createRpcTransport({ addresses, audience: owner, minter }));
      return createClient(service, {
        unary: (method, signal, timeout, header, input) =>
          transport.unary(method, signal, timeout, header, input, values),
        stream: (method, signal, timeout, header, input) =>
          transport.stream(method, signal, timeout, header, input, values),
      });
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

async function submitted(voice: Voice, prompt: string, fields = {}): Promise<Task> {
  const { task } = await voice.client("orchestrator", TaskService).submitTask({ prompt, ...fields });
  if (task === undefined) throw new Error("SubmitTask answered without a task.");
  return task;
}

/** Everything that a task left, by the ids that lead to it. */
interface Kept {
  readonly task: Task;
  readonly callId: string;
  readonly pointer: string;
}

async function worked(voice: Voice, prompt = "Do it."): Promise<Kept> {
  const { id } = await submitted(voice, prompt);
  const tasks = voice.client("orchestrator", TaskService);
  const task = await vi.waitUntil(
    async () => {
      const now = (await tasks.getTask({ taskId: id })).task;
      return now !== undefined && isTerminal(now.state) ? now : undefined;
    },
    { timeout: 60_000, interval: 100 },
  );
  const { toolCalls } = await tasks.listToolCalls({ taskId: id });
  const pointer = toolCalls.find(({ spillPointer }) => spillPointer !== "")?.spillPointer ?? "";
  const kept = { task, callId: toolCalls[0]?.callId ?? "", pointer };
  await expect.poll(async () => lost(await reading(voice, kept)), { timeout: 20_000, interval: 200 }).toEqual([]);
  return kept;
}

/** What every rpc that reads says about what a task left. */
async function reading(voice: Voice, { task, callId, pointer }: Kept): Promise<(readonly [string, string])[]> {
  const { id: taskId, workspaceId, conversationId, traceId } = task;
  const tasks = voice.client("orchestrator", TaskService);
  const exec = voice.client("sandbox", ExecService);
  const files = voice.client("sandbox", WorkspaceService);
  const memory = voice.client("memory", ConversationService);
  const traces = voice.client("trace", TraceService);
  const calls: Record<string, () => Promise<boolean>> = {
    getTask: async () => (await tasks.getTask({ taskId })).task !== undefined,
    listTasks: async () => (await tasks.listTasks({ pageSize: 500 })).tasks.some(({ id }) => id === taskId),
    listSteps: async () => (await tasks.listSteps({ taskId })).steps.length > 0,
    listToolCalls: async () => (await tasks.listToolCalls({ taskId })).toolCalls.length > 0,
    listTransitions: async () => (await tasks.listTransitions({ taskId })).transitions.length > 0,
    getExecution: async () =>
      (await exec.getExecution({ key: { case: "callId", value: callId } })).execution !== undefined,
    listExecutions: async () => (await exec.listExecutions({ taskId })).executions.length > 0,
    listFiles: async () => (await files.listFiles({ workspaceId })).files.length > 0,
    getFiles: async () => (await files.getFiles({ workspaceId, paths: ["kept.txt"] })).files.length > 0,
    listMessages: async () => (await memory.listMessages({ conversationId })).messages.length > 0,
    readSpill: async () => (await memory.readSpill({ conversationId, pointer, length: 10 })).text !== "",
    getTrace: async () => (await traces.getTrace({ traceId })).spans.length > 0,
    listTraces: async () => (await traces.listTraces({ taskId })).traces.length > 0,
  };
  return await Promise.all(
    Object.entries(calls).map(async ([name, found]) => {
      const answer = await found().then(
        (there) => (there ? "found" : "nothing"),
        (error: unknown) => droverErrorFrom(error).code,
      );
      return [name, answer] as const;
    }),
  );
}

const gone = (found: readonly (readonly [string, string])[]) =>
  found.filter(([, answer]) => answer !== "nothing" && answer !== "NOT_FOUND");
const lost = (found: readonly (readonly [string, string])[]) => found.filter(([, answer]) => answer !== "found");

async function completed(voice: Voice, purgeId: string) {
  return await vi.waitUntil(
    async () => {
      const privacy = voice.client("orchestrator", PrivacyService);
      // While a service is being restarted the call itself may fail; the next one counts.
      const receipt = (await privacy.getPurge({ purgeId }).catch(() => undefined))?.receipt;
      return receipt?.completedAt === undefined ? undefined : receipt;
    },
    { timeout: 90_000, interval: 300 },
  );
}

describe("the distributed profile", () => {
  let suite: SuiteUnderTest;
  const opened = new AsyncDisposableStack();
  beforeAll(async () => {
    suite = opened.use(await startSuite("distributed", { script, environment }));
  });
  afterAll(() => opened.disposeAsync());
  const voice = (tenant: string, subject: string) => opened.use(voiceOf(suite, tenant, subject));

  test("after a removal no service finds anything of a user, though one was down and the orchestrator was killed", async () => {
    const [alice, bob, namesake] = [voice("t", "alice"), voice("t", "bob"), voice("other", "alice")];
    const mine = await worked(alice);
    const [theirs, foreign] = [await worked(bob), await worked(namesake)];
    const { id: taskId } = await submitted(alice, "Please take your time.");
    await expect.poll(() => containersOfTask(taskId), { timeout: 20_000 }).toHaveLength(1);
    const running = await alice.client("orchestrator", TaskService).getTask({ taskId });
    const { executions } = await alice.client("sandbox", ExecService).listExecutions({ taskId });
    const workspaceId = executions[0]?.workspaceId ?? "";
    const privacy = voice("t", "officer");
    await suite.processes?.kill("trace", "SIGKILL");
    const request = { requestId: "once", subject: { case: "user", value: "alice" } } as const;
    const { receipt } = await privacy.client("orchestrator", PrivacyService).purge(request);
    await suite.processes?.kill("orchestrator", "SIGKILL");
    await suite.processes?.start("orchestrator");
    const purgeId = receipt?.id ?? "";
    const partOf = async (name: string) => {
      const answer = await privacy.client("orchestrator", PrivacyService).getPurge({ purgeId });
      return answer.receipt?.parts.find(({ service }) => service === name);
    };
    await vi.waitUntil(async () => (await partOf("trace"))?.problem !== "", { timeout: 60_000, interval: 200 });
    expect(await containersOfTask(taskId)).toHaveLength(0);
    await suite.processes?.start("trace");
    const done = await completed(privacy, purgeId);
    expect(done.parts.every((part) => part.done && part.problem === "")).toBe(true);
    expect(gone(await reading(alice, mine))).toEqual([]);
    const stopped = { ...mine.task, ...running.task, workspaceId };
    expect(gone(await reading(alice, { ...mine, task: stopped, callId: executions[0]?.callId ?? "" }))).toEqual([]);
    expect((await alice.client("orchestrator", TaskService).listTasks({})).tasks).toHaveLength(1);
    expect(lost(await reading(bob, theirs))).toEqual([]);
    expect(lost(await reading(namesake, foreign))).toEqual([]);
    const again = await privacy.client("orchestrator", PrivacyService).purge(request);
    expect(again.receipt).toMatchObject({ id: purgeId, completedAt: done.completedAt });
    const asOther = namesake.client("orchestrator", PrivacyService).getPurge({ purgeId });
    await expect(asOther.catch((error) => droverErrorFrom(error).code)).resolves.toBe("NOT_FOUND");
  });

  test("a conversation goes, another one of the same user stays; then the tenant goes with its documents", async () => {
    const carol = voice("whole", "carol");
    const one = await worked(carol);
    const two = await worked(carol);
    const documents = carol.client("rag", DocumentService);
    await documents.uploadDocument(
      (async function* () {
        yield { part: { case: "header", value: { name: "a.md" } } } as const;
        yield { part: { case: "chunk", value: Buffer.from("# A\n\nwords of the tenant") } } as const;
      })(),
    );
    const privacy = carol.client("orchestrator", PrivacyService);
    const conversation = { case: "conversationId", value: one.task.conversationId } as const;
    const first = (await privacy.purge({ subject: conversation })).receipt?.id ?? "";
    await completed(carol, first);
    expect(gone(await reading(carol, one))).toEqual([]);
    expect(lost(await reading(carol, two))).toEqual([]);
    const second = (await privacy.purge({ subject: { case: "wholeTenant", value: true } })).receipt?.id ?? "";
    const receipt = await completed(carol, second);
    expect(receipt.parts.find(({ service }) => service === "rag")?.removed).toBe(1n);
    expect(gone(await reading(carol, two))).toEqual([]);
    expect((await documents.listDocuments({})).documents).toEqual([]);
  });
});

describe("the embedded profile", () => {
  let suite: SuiteUnderTest;
  beforeAll(async () => {
    suite = await startSuite("embedded", { script, environment });
  });
  afterAll(async () => await suite?.[Symbol.asyncDispose]());

  test("a removal goes on after kill -9 of the whole, and nothing is found by who asked for it", async () => {
    await using me = throughGateway(suite);
    const kept = await worked(me);
    const { subject } = await me.client("gateway", AccountService).whoAmI({});
    const asked = await me.client("orchestrator", PrivacyService).purge({ subject: { case: "user", value: subject } });
    await suite.killAndRestart?.();
    const receipt = await completed(me, asked.receipt?.id ?? "");
    expect(receipt.parts.map(({ done }) => done)).toEqual([true, true, true, true, true]);
    expect(gone(await reading(me, kept))).toEqual([]);
  });
});
