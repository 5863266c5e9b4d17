import { readFileSync } from "node:fs";
import { join } from "node:path";
import { inspect } from "node:util";
import {
  create,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  type DescService,
} from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { newId } from "@drover/kernel";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import { ExtractionOutcome, FactService } from "@drover/proto/memory/v1/fact_service";
import { Role } from "@drover/proto/memory/v1/message";
import { AgentService, PolicyEffect } from "@drover/proto/orchestrator/v1/agent_service";
import { ApprovalService, ApprovalState, Decision } from "@drover/proto/orchestrator/v1/approval_service";
import { PrivacyService } from "@drover/proto/orchestrator/v1/privacy_service";
import type { Task } from "@drover/proto/orchestrator/v1/task";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import { actingAs, createIdentityMinter, createRpcTransport, droverErrorFrom, type IdentityKeys } from "@drover/rpc";
import { callsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { connectClient, isTerminal, submit, untilEnded, withKey } from "./src/clients.ts";
import { type SuiteUnderTest, startSuite } from "./src/suite-under-test.ts";

const services: readonly (readonly [owner: string, service: DescService])[] = [
  ["orchestrator", TaskService],
  ["orchestrator", ApprovalService],
  ["orchestrator", AgentService],
  ["orchestrator", PrivacyService],
  ["sandbox", ExecService],
  ["sandbox", WorkspaceService],
  ["rag", DocumentService],
  ["rag", RetrievalService],
  ["memory", ConversationService],
  ["memory", FactService],
  ["trace", TraceService],
];

/** Ids of tenant A's objects, by the field names of requests. */
type Ids = Readonly<Record<string, string>>;

/** Stands in everything that tenant A stores. */
const wordsOfA = "the-words-of-tenant-a";

/** What a method needs beside the ids to be a well-formed request. */
const wellFormed: Readonly<Record<string, Record<string, unknown>>> = {
  SubmitTask: { prompt: "Read what is mine." },
  Run: { language: "bash", code: "ls", callId: newId() },
  Start: { command: "ls", callId: newId() },
  PutFiles: { files: [{ path: "planted.txt", content: new Uint8Array([1]) }] },
  GetFiles: { paths: ["secret.txt"] },
  SearchFiles: { pattern: "." },
  DecideApproval: { decision: Decision.APPROVE, argumentsHash: "0".repeat(64) },
  AppendMessages: { messages: [{ role: Role.USER, text: "planted", clientMessageId: "planted/1" }] },
};

/**
 * What does not answer NOT_FOUND, because the id is a filter, the answer is the same for every
 * unknown id, or the id names something in the caller's own tenant; and what must hold instead.
 */
const otherwise: Readonly<Record<string, (answer: readonly Record<string, unknown>[]) => void>> = {
  ListExecutions: ([answer]) => expect(answer?.executions).toEqual([]),
  ListApprovals: ([answer]) => expect(answer?.approvals).toEqual([]),
  ListTraces: ([answer]) => expect(answer?.traces).toEqual([]),
  DeleteTask: () => {},
  DeleteWorkspace: () => {},
  // Of what B has under this id; the last test finds what A has.
  Purge: ([answer]) => expect(answer?.receipt).toBeDefined(),
  EndSession: () => {},
  WatchTrace: (answers) => expect(answers.flatMap((answer) => answer.spans)).toEqual([]),
  AppendMessages: ([answer]) => expect(answer?.messages).toHaveLength(1),
  BuildContext: ([answer]) => expect(inspect(answer, { depth: null })).not.toContain(wordsOfA),
  // An earlier case made a conversation of B's own under this id.
  ExtractFacts: ([answer]) => expect(answer?.outcome).toBe(ExtractionOutcome.NOTHING),
  ListMessages: ([answer]) => expect(inspect(answer, { depth: null })).not.toContain(wordsOfA),
  // The workspace is looked at when a tool needs it; see the test below.
  SubmitTask: ([answer]) => expect(answer?.task).toBeDefined(),
};

const crossing = services.flatMap(([owner, service]) =>
  service.methods
    .filter((method) => method.methodKind !== "client_streaming" && idFields(method).length > 0)
    .map((method) => ({ owner, method, name: `${service.typeName}/${method.name}` })),
);

/** Names that tenant A gave; another tenant's things of that name are others. */
const nameOfA = "of-tenant-a";

/** The orchestrator's methods that take no id: what to ask, and what of tenant A must not come of it. */
const nameless: Readonly<
  Record<string, { readonly request: Record<string, unknown>; readonly expected: string | object }>
> = {
  ListTasks: { request: { pageSize: 500 }, expected: [{ nextPageToken: "" }] },
  ListAgents: { request: {}, expected: [{ agents: [] }] },
  GetAgent: { request: { name: nameOfA }, expected: "NOT_FOUND" },
  DeleteAgent: { request: { name: nameOfA }, expected: [{}] },
  ListPolicies: { request: {}, expected: [{ policies: [] }] },
  DeletePolicy: { request: { name: "ask" }, expected: [{}] },
  CheckPolicy: {
    request: { tool: "read_file", arguments: "{}" },
    expected: [{ effect: PolicyEffect.ALLOW, rule: "" }],
  },
  WatchApprovals: { request: {}, expected: [{ sequence: 0n }] },
  // Last, because from here on tenant B has something of these names.
  PutAgent: { request: { agent: { name: nameOfA, prompt: "planted" } }, expected: [{ agent: { version: 1n } }] },
  PutPolicy: {
    request: { policy: { name: "ask", tool: "bash", effect: PolicyEffect.DENY } },
    expected: [{ policy: { updatedBy: "mallory" } }],
  },
};

const named = [TaskService, ApprovalService, AgentService].flatMap((service) =>
  service.methods.filter((method) => idFields(method).length === 0),
);

describe("ids of another tenant", () => {
  let suite: SuiteUnderTest;
  let ids: Ids;
  beforeAll(async () => {
    const read = callsScript([{ name: "read_file", arguments: { path: "/workspace/secret.txt" } }]);
    suite = await startSuite("distributed", { script: read });
    ids = await objectsOfA(suite);
  });
  afterAll(async () => await suite?.[Symbol.asyncDispose]());

  test("the descriptors yield the methods to cross", () => expect(crossing.length).toBeGreaterThan(15));

  test.each(crossing)("$name", async ({ owner, method }) => {
    const outcome = await callAsB(suite, owner, method, requestWith(method, ids));
    const check = otherwise[method.name];
    if (check === undefined) expect(outcome).toBe("NOT_FOUND");
    else if (typeof outcome === "string") expect(outcome).toBe("NOT_FOUND");
    else check(outcome);
  });

  test("an agent of A is none for a task of B", async () => {
    const request = { prompt: "Be somebody else.", agent: nameOfA };
    expect(await callAsB(suite, "orchestrator", TaskService.method.submitTask, request)).toBe("NOT_FOUND");
  });

  test("every method without an id is tried, too", () => {
    expect(named.map(({ name }) => name).sort()).toEqual(Object.keys(nameless).sort());
  });

  test.each(Object.entries(nameless))("%s shows and changes nothing of A", async (name, { request, expected }) => {
    const method = named.find((one) => one.name === name);
    if (method === undefined) throw new Error("no such method");
    const outcome = await callAsB(suite, "orchestrator", method, request);
    if (typeof expected === "string") expect(outcome).toBe(expected);
    else expect(outcome).toMatchObject(expected);
    expect(inspect(outcome, { depth: null })).not.toContain(wordsOfA);
  });

  test("a task of B with A's workspace ends with B being told that there is none", async () => {
    const submitted = await callAsB(suite, "orchestrator", TaskService.method.submitTask, {
      prompt: "Read what is mine.",
      workspaceId: ids.workspace_id,
    });
    const { id } = (submitted as [{ task: Task }])[0].task;
    const read = () => callAsB(suite, "orchestrator", TaskService.method.getTask, { taskId: id });
    const ended = await vi.waitUntil(
      async () => {
        const { task } = ((await read()) as [{ task: Task }])[0];
        return isTerminal(task.state) ? task : undefined;
      },
      { timeout: 60_000, interval: 100 },
    );
    expect(ended.answer).toContain("NOT_FOUND");
    expect(ended.answer).not.toContain(wordsOfA);
  });

  test("what belongs to A is untouched", async () => {
    const { files } = await connectClient(WorkspaceService, suite.url, suite.apiKey).listFiles({
      workspaceId: ids.workspace_id ?? "",
    });
    expect(files.map((file) => file.path)).toEqual(["secret.txt"]);
    const tasks = connectClient(TaskService, suite.url, suite.apiKey);
    expect((await tasks.getTask({ taskId: ids.task_id ?? "" })).task).toBeDefined();
    const documents = connectClient(DocumentService, suite.url, suite.apiKey);
    expect((await documents.getDocument({ documentId: ids.document_id ?? "" })).document).toBeDefined();
    const agents = connectClient(AgentService, suite.url, suite.apiKey);
    expect((await agents.getAgent({ name: nameOfA })).agent?.prompt).toBe(wordsOfA);
    expect((await agents.listPolicies({})).policies).toMatchObject([{ name: "ask", effect: PolicyEffect.ASK }]);
    const approvals = connectClient(ApprovalService, suite.url, suite.apiKey);
    expect((await approvals.listApprovals({})).approvals).toMatchObject([{ state: ApprovalState.PENDING }]);
    const memory = connectClient(ConversationService, suite.url, suite.apiKey);
    const { messages } = await memory.listMessages({ conversationId: ids.conversation_id ?? "" });
    const words = JSON.stringify(messages.map((message) => message.text));
    expect(words).toContain(wordsOfA);
    expect(words).not.toContain("planted");
    const { facts } = await connectClient(FactService, suite.url, suite.apiKey).listFacts({});
    expect(facts.map(({ text }) => text)).toContain(wordsOfA);
    expect(await callAsB(suite, "memory", FactService.method.listFacts, {})).toMatchObject([{ facts: [] }]);
  });
});

function idFields(method: DescMethod): string[] {
  const own = new Set(["request_id", "client_message_id"]);
  return method.input.fields
    .filter((field) => field.fieldKind === "scalar" && (field.name === "id" || field.name.endsWith("_id")))
    .map((field) => field.name)
    .filter((name) => !own.has(name));
}

function requestWith(method: DescMethod, ids: Ids): Record<string, unknown> {
  const request: Record<string, unknown> = { pointer: ids.pointer, ...wellFormed[method.name] };
  for (const field of method.input.fields) {
    if (!idFields(method).includes(field.name) || field.localName in request) continue;
    if (field.oneof === undefined) request[field.localName] = ids[field.name];
    else request[field.oneof.localName] = { case: field.localName, value: ids[field.name] };
  }
  return request;
}

async function callAsB(
  suite: SuiteUnderTest,
  owner: string,
  method: DescMethod,
  request: Record<string, unknown>,
): Promise<readonly Record<string, unknown>[] | string> {
  const keys: IdentityKeys = JSON.parse(readFileSync(join(suite.dataFolder, "identity-keys.json"), "utf8"));
  const minter = createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
  const addresses = suite.addresses[owner] ?? "";
  await using transport = createRpcTransport({ addresses, audience: owner, minter });
  const scopes =
    "tasks:read tasks:write agents:read agents:write policies:read policies:write approvals:read approvals:decide exec:run exec:read memory:read memory:write documents:read documents:write traces:read privacy:read privacy:write";
  const values = actingAs({ tenant: "tenant-b", subject: "mallory", scopes: scopes.split(" ") });
  const input = create(method.input, request);
  const answers: Record<string, unknown>[] = [];
  try {
    if (method.methodKind === "unary") {
      const { message } = await transport.unary(method as DescMethodUnary, undefined, 10_000, undefined, input, values);
      return [{ ...message }];
    }
    const one = (async function* () {
      yield input;
    })();
    const { message } = await transport.stream(
      method as DescMethodStreaming,
      AbortSignal.timeout(1_500),
      undefined,
      undefined,
      one,
      values,
    );
    for await (const answer of message) answers.push({ ...answer });
    return answers;
  } catch (error) {
    const { code } = droverErrorFrom(error);
    // A watch that shows nothing goes on until the test's own patience ends.
    return ["WatchTrace", "WatchApprovals"].includes(method.name) && code !== "NOT_FOUND" ? answers : code;
  }
}

/** An approval that waits. */
async function approvalOfA({ url, apiKey }: SuiteUnderTest): Promise<string> {
  const policy = { name: "ask", tool: "read_file", effect: PolicyEffect.ASK };
  const agents = connectClient(AgentService, url, apiKey);
  await agents.putPolicy({ policy });
  await agents.putAgent({ agent: { name: nameOfA, prompt: wordsOfA } });
  await submit(url, apiKey, wordsOfA);
  const query = { states: [ApprovalState.PENDING] };
  const list = async () => (await connectClient(ApprovalService, url, apiKey).listApprovals(query)).approvals[0]?.id;
  return (await vi.waitUntil(list, { timeout: 60_000, interval: 100 })) ?? "";
}

/** A fact that a task of A has left. */
async function factOfA({ url, apiKey }: SuiteUnderTest): Promise<string> {
  await submit(url, apiKey, `Remember that ${wordsOfA}`);
  const list = async () => (await connectClient(FactService, url, apiKey).listFacts({})).facts[0]?.id;
  return (await vi.waitUntil(list, { timeout: 60_000, interval: 100 })) ?? "";
}

/** A removal of a conversation that nobody has. */
async function purgeOfA({ url, apiKey }: SuiteUnderTest): Promise<string> {
  const subject = { case: "conversationId", value: newId() } as const;
  return (await connectClient(PrivacyService, url, apiKey).purge({ subject })).receipt?.id ?? "";
}

/** One object of each kind, made by tenant A through the gateway. */
async function objectsOfA(suite: SuiteUnderTest): Promise<Ids> {
  const workspaces = connectClient(WorkspaceService, suite.url, suite.apiKey);
  const { workspace } = await workspaces.createWorkspace({});
  const workspaceId = workspace?.id ?? "";
  const content = Buffer.from(`${wordsOfA} ${"x".repeat(40_000)}`);
  await workspaces.putFiles({ workspaceId, files: [{ path: "secret.txt", content }] });
  const task = await untilEnded(
    suite.url,
    suite.apiKey,
    (await submit(suite.url, suite.apiKey, wordsOfA, workspaceId)).id,
  );
  const callId = newId();
  const exec = connectClient(ExecService, suite.url, suite.apiKey);
  let executionId = "";
  for await (const { event } of exec.run({ callId, language: "bash", code: `echo ${wordsOfA}` })) {
    if (event.case === "accepted") executionId = event.value.executionId;
  }
  const documents = createClient(
    DocumentService,
    createGrpcTransport({ baseUrl: suite.url, interceptors: [withKey(suite.apiKey)] }),
  );
  const { result } = await documents.uploadDocument(
    (async function* () {
      yield { part: { case: "header", value: { name: "secret.md" } } } as const;
      yield { part: { case: "chunk", value: Buffer.from(`# Heading\n\n${wordsOfA}`) } } as const;
    })(),
  );
  const { messages } = await connectClient(ConversationService, suite.url, suite.apiKey).listMessages({
    conversationId: task.conversationId,
  });
  const traces = connectClient(TraceService, suite.url, suite.apiKey);
  const spans = async () => (await traces.getTrace({ traceId: task.traceId }).catch(() => undefined))?.spans ?? [];
  await vi.waitUntil(async () => (await spans()).length > 0, { timeout: 60_000, interval: 100 });
  const ids = {
    task_id: task.id,
    workspace_id: workspaceId,
    conversation_id: task.conversationId,
    trace_id: task.traceId,
    span_id: (await spans())[0]?.spanId ?? "",
    call_id: callId,
    execution_id: executionId,
    document_id: result.case === "document" ? result.value.id : "",
    fact_id: await factOfA(suite),
    purge_id: await purgeOfA(suite),
    approval_id: await approvalOfA(suite),
    pointer: messages.find((message) => message.spillPointer !== "")?.spillPointer ?? "",
  };
  expect(Object.entries(ids).filter(([, id]) => id === "")).toEqual([]);
  return ids;
}
