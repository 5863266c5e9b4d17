import { once } from "node:events";
import { connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { Code, type ConnectError, createClient, type Transport } from "@connectrpc/connect";
import {
  compressionGzip,
  createConnectTransport,
  createGrpcTransport,
  createGrpcWebTransport,
} from "@connectrpc/connect-node";
import { AccountService } from "@drover/proto/gateway/v1/account_service";
import { BadRequestSchema } from "@drover/proto/google/rpc/error_details";
import { TaskService } from "@drover/proto/orchestrator/v1/task_service";
import { DocumentService } from "@drover/proto/rag/v1/document_service";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EdgeFixture, startEdge } from "./edge-fixture.ts";
import { logLength } from "./fake-tasks.ts";

let edge: EdgeFixture;
beforeAll(async () => {
  edge = await startEdge();
});
afterAll(() => edge[Symbol.asyncDispose]());

const transports: Record<string, (baseUrl: string) => Transport> = {
  "Connect over HTTP/1.1": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "1.1" }),
  "Connect with JSON over HTTP/1.1": (baseUrl) =>
    createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }),
  "Connect over HTTP/2": (baseUrl) => createConnectTransport({ baseUrl, httpVersion: "2" }),
  "gRPC-Web over HTTP/1.1": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
  "gRPC-Web over HTTP/2": (baseUrl) => createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
  "gRPC of connect-node": (baseUrl) => createGrpcTransport({ baseUrl }),
};

describe.each(Object.entries(transports))("%s", (_, make) => {
  it("calls, streams, and gets typed errors", async () => {
    const transport = make(edge.url);
    const tasks = createClient(TaskService, transport);
    const headers = edge.bearer;
    const { task } = await tasks.submitTask({ prompt: "héllo ✓" }, { headers });
    expect(task?.prompt).toBe("héllo ✓");
    expect(edge.seen.caller?.tenant).toBe("default");

    const sequences: bigint[] = [];
    for await (const { message } of tasks.watchTask({ taskId: "long", afterSequence: 50n }, { headers })) {
      if (message.case === "event") sequences.push(message.value.sequence);
    }
    expect(sequences).toEqual(Array.from({ length: logLength - 50 }, (_, i) => BigInt(i + 51)));

    const refused = await tasks.submitTask({ prompt: "" }, { headers }).catch((error: unknown) => error);
    expect(refused).toMatchObject({ code: Code.InvalidArgument });
    expect((refused as ConnectError).findDetails(BadRequestSchema)[0]?.fieldViolations[0]?.field).toBe("prompt");

    await expect(tasks.getTask({ taskId: "t" })).rejects.toMatchObject({ code: Code.Unauthenticated });
    await expect(createClient(AccountService, transport).whoAmI({}, { headers })).resolves.toMatchObject({
      tenantId: "default",
    });
    const late = tasks.getTask({ taskId: "slow" }, { headers, timeoutMs: 100 });
    await expect(late).rejects.toMatchObject({ code: Code.DeadlineExceeded });
  });
});

describe("translated calls", () => {
  it("upload over Connect and HTTP/2", async () => {
    const documents = createClient(DocumentService, createConnectTransport({ baseUrl: edge.url, httpVersion: "2" }));
    async function* parts() {
      yield { part: { case: "header", value: { name: "a.md" } } } as const;
      for (let i = 0; i < 20; i++) yield { part: { case: "chunk", value: new Uint8Array(50_000) } } as const;
    }
    const { result } = await documents.uploadDocument(parts(), { headers: edge.bearer });
    expect(result).toMatchObject({ case: "document", value: { sizeBytes: 1_000_000n } });
  });

  it("pass a client's going on to the service", async () => {
    const tasks = createClient(TaskService, createConnectTransport({ baseUrl: edge.url, httpVersion: "1.1" }));
    edge.seen.aborted.length = 0;
    const watching = new AbortController();
    const read = async () => {
      for await (const _ of tasks.watchTask({ taskId: "endless" }, { headers: edge.bearer, signal: watching.signal })) {
        watching.abort();
      }
    };
    await expect(read()).rejects.toMatchObject({ code: Code.Canceled });
    await expect.poll(() => edge.seen.aborted).toContain("watch endless");
  });

  it("refuse a message over the limit, also one that grows when it is unpacked", async () => {
    const prompt = "x".repeat(5_000_000);
    for (const compression of [{}, { sendCompression: compressionGzip }]) {
      const transport = createConnectTransport({ baseUrl: edge.url, httpVersion: "1.1", ...compression });
      const tasks = createClient(TaskService, transport);
      await expect(tasks.submitTask({ prompt }, { headers: edge.bearer })).rejects.toMatchObject({
        code: Code.ResourceExhausted,
      });
      await expect(tasks.getTask({ taskId: "t" }, { headers: edge.bearer })).resolves.toBeDefined();
    }
  });

  it("ignore forged internal headers", async () => {
    const tasks = createClient(TaskService, createConnectTransport({ baseUrl: edge.url, httpVersion: "1.1" }));
    const headers = { ...edge.bearer, "x-drover-identity": "forged", "x-tenant-id": "other" };
    await tasks.getTask({ taskId: "t" }, { headers });
    expect(edge.seen.caller?.tenant).toBe("default");
    expect(edge.seen.headers).not.toHaveProperty("x-tenant-id");
  });

  it("answer a plain POST with JSON", async () => {
    const response = await fetch(`${edge.url}/drover.orchestrator.v1.TaskService/GetTask`, {
      method: "POST",
      headers: { ...edge.bearer, "content-type": "application/json" },
      body: JSON.stringify({ taskId: "curl" }),
    });
    expect(await response.json()).toEqual({ task: { id: "curl" } });
    const unknown = await fetch(`${edge.url}/drover.test.v1.EchoService/Echo`, {
      method: "POST",
      headers: edge.bearer,
    });
    expect(unknown.status).toBe(404);
    expect(await unknown.json()).toMatchObject({ code: "NOT_FOUND" });
  });
});

describe("a translated call over plain HTTP", () => {
  const post = (
    taskId: string,
    headers: Record<string, string>,
    url = edge.url,
    body?: string | Uint8Array<ArrayBuffer>,
  ) =>
    fetch(`${url}/drover.orchestrator.v1.TaskService/GetTask`, {
      method: "POST",
      headers: { ...edge.bearer, "content-type": "application/json", ...headers },
      body: body ?? JSON.stringify({ taskId }),
    });

  it("has at most the longest time, however much is asked for", async () => {
    const longest = await post("t", { "connect-timeout-ms": "9999999999" });
    expect([longest.status, await longest.json()]).toEqual([200, { task: { id: "t" } }]);
    const web = createClient(TaskService, createGrpcWebTransport({ baseUrl: edge.url, httpVersion: "1.1" }));
    const headers = { ...edge.bearer, "grpc-timeout": "99999999H" };
    await expect(web.getTask({ taskId: "t" }, { headers })).resolves.toBeDefined();
  });

  it.each(["0", "1", "50"])("tells of a deadline of %s ms as a deadline", async (ms) => {
    const late = await post("slow", { "connect-timeout-ms": ms });
    expect([late.status, ((await late.json()) as { code: string }).code]).toEqual([504, "deadline_exceeded"]);
  });

  it.each(["gzip", "br"])("blames the sender for bytes that are not %s", async (encoding) => {
    const refused = await post("", { "content-encoding": encoding }, edge.url, "abc");
    expect(await refused.json()).toMatchObject({ code: "invalid_argument" });
    const cut = await post("", { "content-encoding": encoding }, edge.url, gzipSync("{}").subarray(0, 12));
    expect(await cut.json()).toMatchObject({ code: "invalid_argument" });
  });

  it("is refused without credentials before its body is looked at", async () => {
    const refused = await post("", { authorization: "Bearer x", "content-encoding": "gzip" }, edge.url, "no gzip");
    expect(await refused.json()).toMatchObject({ code: "unauthenticated" });
  });

  it("names a service that is away and nothing of where it is", async () => {
    await using lonely = await startEdge({
      ORCHESTRATOR_ADDRESS: "127.0.0.1:1",
      RAG_ADDRESS: "dns:///nowhere.invalid:9",
    });
    for (const [service, method] of [
      ["orchestrator", "drover.orchestrator.v1.TaskService/GetTask"],
      ["rag", "drover.rag.v1.DocumentService/ListDocuments"],
    ]) {
      const headers = { authorization: `Bearer ${lonely.key}`, "content-type": "application/json" };
      const away = await fetch(`${lonely.url}/${method}`, { method: "POST", headers, body: "{}" });
      const text = await away.text();
      expect(JSON.parse(text)).toMatchObject({
        code: "unavailable",
        message: `The service ${service} cannot be reached.`,
      });
      expect(text).not.toMatch(/127\.0\.0\.1|nowhere|ECONN|ENOTFOUND/);
    }
    const events = await fetch(`${lonely.url}/v1/tasks/t/events`, {
      headers: { authorization: `Bearer ${lonely.key}` },
    });
    expect(await events.text()).not.toMatch(/127\.0\.0\.1|ECONN/);
  });
});

describe("one connection", () => {
  it("is closed for a client that resets too many streams, and the rest works on", async () => {
    await using strict = await startEdge({ DROVER_RESET_BURST: "50", DROVER_RESETS_PER_SECOND: "1" });
    const session = connect(strict.url);
    session.on("error", () => {});
    const closed = new Promise((resolve) => session.once("close", resolve));
    for (let i = 0; i < 400 && !session.destroyed; i++) {
      const stream = session.request({ ":method": "POST", ":path": "/x", "content-type": "application/grpc" });
      stream.on("error", () => {});
      stream.close(8);
      if (i % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await closed;
    const tasks = createClient(TaskService, createGrpcTransport({ baseUrl: strict.url }));
    await expect(tasks.getTask({ taskId: "t" }, { headers: strict.bearer })).resolves.toBeDefined();
  });

  it("has at most a hundred streams", async () => {
    const session = connect(edge.url);
    const [settings] = await once(session, "remoteSettings");
    expect(settings).toMatchObject({ maxConcurrentStreams: 100 });
    session.destroy();
  });
});
