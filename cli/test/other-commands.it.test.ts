import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ConnectRouter } from "@connectrpc/connect";
import { DroverError, notFound } from "@drover/kernel";
import { AccountService } from "@drover/proto/gateway/v1/account_service";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { RetrievalService } from "@drover/proto/rag/v1/retrieval_service";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { SpanState } from "@drover/proto/trace/v1/trace";
import { TraceService } from "@drover/proto/trace/v1/trace_service";
import { expect, test } from "vitest";
import { startDrover } from "./drover-process.ts";
import { startFakeGateway } from "./fake-gateway.ts";

const healthy = { ready: true, daemonVersion: "29.1", isolation: "hardened" };
const away = { ready: false, problem: "The daemon does not answer.", advice: "Start Docker." };

function serveAll(health: typeof healthy | typeof away, memoryAway = false): (router: ConnectRouter) => void {
  return (router) => {
    router.service(AccountService, { whoAmI: () => ({ tenantId: "default", subject: "key:1", scopes: ["exec:run"] }) });
    router.service(TaskService, { listTasks: () => ({}) });
    router.service(DocumentService, { listDocuments: () => ({}) });
    router.service(TraceService, { listTraces: () => ({}) });
    router.service(ConversationService, {
      listMessages({ conversationId }) {
        if (memoryAway) throw new DroverError("UNAVAILABLE", "The service memory cannot be reached.");
        throw notFound("conversation", conversationId);
      },
    });
    router.service(ExecService, {
      listExecutions: () => ({}),
      checkHealth: () => health,
      listLanguages: () => ({ languages: [{ name: "python", title: "Python 3.13", available: true }] }),
    });
  };
}

test("doctor is content with a whole system", async () => {
  await using gateway = await startFakeGateway(serveAll(healthy));
  const { code, stdout } = await startDrover(["doctor", "--url", gateway.url]).ended;
  const marks = stdout
    .toString()
    .trimEnd()
    .split("\n")
    .map((line) => line.slice(0, 3));
  expect({ code, marks }).toEqual({ code: 0, marks: Array(9).fill("ok ") });
  expect(stdout.toString()).toContain("Docker 29.1, isolation hardened");
});

test("doctor names what is away and what to do", async () => {
  await using gateway = await startFakeGateway(serveAll(away, true));
  const { code, stdout } = await startDrover(["doctor", "--url", gateway.url]).ended;
  expect(code).toBe(1);
  expect(stdout.toString()).toContain("bad  memory          The service memory cannot be reached.");
  expect(stdout.toString()).toMatch(/bad {2}code execution {2}The daemon does not answer\.\n +Start Docker\./);
});

test("doctor without a key still says whether the gateway answers", async () => {
  await using gateway = await startFakeGateway(serveAll(healthy));
  const { code, stdout } = await startDrover(["doctor", "--json", "--url", gateway.url], { DROVER_API_KEY: "" }).ended;
  expect(code).toBe(1);
  expect(JSON.parse(stdout.toString()).checks).toMatchObject([
    { name: "gateway", ok: true },
    { name: "key", ok: false, found: "There is no API key." },
  ]);
});

test("trace show finds the trace of a task", async () => {
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  await using gateway = await startFakeGateway((router) =>
    router.service(TraceService, {
      listTraces: ({ taskId }) => ({ traces: taskId.startsWith("0192") ? [{ traceId }] : [] }),
      getTrace: () => ({
        trace: { traceId, name: "task", spanCount: 1 },
        spans: [{ spanId: "a", name: "task", state: SpanState.ENDED, startNs: 0n, endNs: 5_000_000n }],
      }),
    }),
  );
  const show = (id: string) => startDrover(["trace", "show", id, "--url", gateway.url]).ended;
  const found = await show("0192f3a1-7c3e-7a52-9a0e-3f1d2b4c5d6e");
  expect(found.code).toBe(0);
  expect(found.stdout.toString()).toMatch(/^trace 0af7.* · task · 1 span\n\ntask +5 ms\n$/);
  expect(await show("9992f3a1-7c3e-7a52-9a0e-3f1d2b4c5d6e")).toMatchObject({ code: 1 });
});

test("doc put uploads in order and fails where one was refused; doc search shows places and ranks", async () => {
  const uploaded: [string, number][] = [];
  await using gateway = await startFakeGateway((router) => {
    router.service(DocumentService, {
      async uploadDocument(requests) {
        let name = "";
        let size = 0;
        for await (const { part } of requests) {
          if (part.case === "header") name = part.value.name;
          if (part.case === "chunk") size += part.value.length;
        }
        uploaded.push([name, size]);
        if (name.endsWith(".md"))
          return { result: { case: "document", value: { id: "d1", name, collection: "shop" } } };
        return { result: { case: "refusal", value: { check: "extension", found: ".exe", allowed: ".md, .txt" } } };
      },
    });
    router.service(RetrievalService, {
      search: () => ({
        passages: [{ documentName: "a.md", headingPath: ["Captures"], text: "Wait\x1b[2J.", end: 9n, lexicalRank: 1 }],
      }),
    });
  });
  const folder = mkdtempSync(join(tmpdir(), "drover-cli-"));
  try {
    const files = ["a.md", "b.exe"].map((name) => join(folder, name));
    for (const file of files) writeFileSync(file, "x".repeat(600_000));
    const put = await startDrover(["doc", "put", ...files, "--url", gateway.url]).ended;
    expect(put.code).toBe(1);
    expect(put.stdout.toString()).toContain("b.exe was refused: extension: found .exe, allowed .md, .txt");
  } finally {
    rmSync(folder, { recursive: true });
  }
  expect(uploaded).toEqual([
    ["a.md", 600_000],
    ["b.exe", 600_000],
  ]);
  const { code, stdout } = await startDrover(["doc", "search", "wait", "--url", gateway.url]).ended;
  expect({ code, stdout: stdout.toString() }).toEqual({
    code: 0,
    stdout: " 1  a.md › Captures  words 1 · 0–9\n    Wait\\x1b[2J.\n\n",
  });
});
