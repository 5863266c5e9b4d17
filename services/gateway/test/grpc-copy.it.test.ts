import { once } from "node:events";
import { connect } from "node:http2";
import { create, fromBinary, type MessageShape, toBinary } from "@bufbuild/protobuf";
import { AccountService } from "@drover/proto/gateway/v1/account_service";
import { TaskService, type WatchTaskResponse } from "@drover/proto/orchestrator/v1/task_service";
import {
  DocumentService,
  UploadDocumentRequestSchema,
  UploadDocumentResponseSchema,
} from "@drover/proto/rag/v1/document_service";
import { RetrievalService, SearchRequestSchema } from "@drover/proto/rag/v1/retrieval_service";
import { status } from "@grpc/grpc-js";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EdgeFixture, startEdge } from "./edge-fixture.ts";
import { logLength } from "./fake-tasks.ts";
import { GrpcClient, metadataOf, pathOf } from "./grpc-client.ts";

const { submitTask, getTask, watchTask } = TaskService.method;

describe("gRPC through the edge", () => {
  let edge: EdgeFixture;
  let client: GrpcClient;

  beforeAll(async () => {
    edge = await startEdge();
    client = new GrpcClient(edge.gateway.address);
  });
  afterAll(async () => {
    client[Symbol.dispose]();
    await edge[Symbol.asyncDispose]();
  });

  it("reaches the service as the key's caller, with a trace and a capped deadline", async () => {
    const { message } = await client.unary(submitTask, { prompt: "hello" }, edge.bearer);
    expect(message.task).toMatchObject({ id: "t1", prompt: "hello" });
    expect(edge.seen.caller).toMatchObject({ tenant: "default", subject: expect.stringMatching(/^key:/) });
    expect(edge.seen.caller?.scopes).toContain("tasks:write");
    expect(edge.seen.traceId).toMatch(/^[0-9a-f]{32}$/);
    expect(edge.seen.timeoutMs).toBeLessThanOrEqual(300_000);
  });

  it("passes the caller's trace and own metadata, and nothing forged", async () => {
    const traceId = "0af7651916cd43dd8448eb211c80319c";
    await client.unary(
      submitTask,
      { prompt: "x" },
      {
        ...edge.bearer,
        traceparent: `00-${traceId}-b7ad6b7169203331-01`,
        "my-own": "kept",
        "x-drover-identity": "forged",
        "x-drover-admin": "1",
        "x-tenant-id": "other",
        "x-forwarded-user": "root",
        forwarded: "for=1.2.3.4",
        cookie: "a=b",
      },
    );
    expect(edge.seen.traceId).toBe(traceId);
    expect(edge.seen.caller?.tenant).toBe("default");
    expect(edge.seen.headers).toMatchObject({ "my-own": "kept" });
    for (const name of ["x-drover-admin", "x-tenant-id", "x-forwarded-user", "forwarded", "cookie", "authorization"]) {
      expect(edge.seen.headers).not.toHaveProperty(name);
    }
    expect(edge.seen.headers?.["x-drover-identity"]).not.toContain("forged");
  });

  it("keeps fields that it does not know, both ways", async () => {
    const unknown = [{ no: 900, wireType: 2, data: Uint8Array.of(3, 1, 2, 3) }];
    const request = create(submitTask.input, { prompt: "x" });
    request.$unknown = unknown;
    const { message } = await client.unary(submitTask, request, edge.bearer);
    for (const seen of [edge.seen.request, message]) {
      expect(seen?.$unknown?.map(({ no, data }) => [no, ...data])).toEqual([[900, 3, 1, 2, 3]]);
    }
  });

  it("passes the service's errors with their details", async () => {
    await expect(client.unary(submitTask, { prompt: "" }, edge.bearer)).rejects.toMatchObject({
      code: status.INVALID_ARGUMENT,
      details: expect.stringContaining("prompt"),
    });
    await expect(client.unary(getTask, { taskId: "nobody" }, edge.bearer)).rejects.toMatchObject({
      code: status.NOT_FOUND,
    });
  });

  it("refuses no key, a wrong key and a wrong scheme alike, and says how to authenticate", async () => {
    const wrong = `${edge.key.slice(0, -1)}${edge.key.endsWith("A") ? "B" : "A"}`;
    for (const headers of [{}, { authorization: `Bearer ${wrong}` }, { authorization: edge.key }]) {
      await expect(client.unary(getTask, { taskId: "t" }, headers as Record<string, string>)).rejects.toMatchObject({
        code: status.UNAUTHENTICATED,
        details: expect.stringContaining("authorization: Bearer"),
      });
    }
  });

  it("does not know reflection, the test service or a method that is none", async () => {
    for (const path of [
      "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
      "/drover.test.v1.EchoService/Echo",
    ]) {
      const error = await new Promise((resolve) =>
        client.raw.makeUnaryRequest(
          path,
          (b: Buffer) => b,
          (b) => b,
          Buffer.alloc(0),
          metadataOf(edge.bearer),
          resolve,
        ),
      );
      expect(error).toMatchObject({ code: status.UNIMPLEMENTED });
    }
  });

  it("streams, in order and to the end", async () => {
    const sequences: bigint[] = [];
    for await (const { message } of client.stream(
      watchTask,
      { taskId: "long" },
      edge.bearer,
    ) as AsyncIterable<WatchTaskResponse>) {
      if (message.case === "event") sequences.push(message.value.sequence);
    }
    expect(sequences).toEqual(Array.from({ length: logLength }, (_, i) => BigInt(i + 1)));
  });

  it("tells a fault in mid-stream with a status", async () => {
    const read = async () => {
      for await (const _ of client.stream(watchTask, { taskId: "broken" }, edge.bearer));
    };
    await expect(read()).rejects.toMatchObject({ code: status.INTERNAL });
  });

  it("passes a client's cancel on, unary and stream", async () => {
    const call = client.stream(watchTask, { taskId: "endless" }, edge.bearer);
    call.on("error", () => {});
    await once(call, "data");
    call.cancel();
    await expect(
      client.unary(getTask, { taskId: "slow" }, edge.bearer, { deadline: Date.now() + 1000 }),
    ).rejects.toMatchObject({
      code: status.DEADLINE_EXCEEDED,
    });
    await expect.poll(() => edge.seen.aborted).toEqual(expect.arrayContaining(["watch endless", "getTask"]));
  });

  it("uploads at the service's pace, and stops an upload that is refused", async () => {
    const { uploadDocument } = DocumentService.method;
    const upload = (headers: Record<string, string>, chunks: number, size: number) =>
      new Promise<MessageShape<typeof UploadDocumentResponseSchema>>((resolve, reject) => {
        const call = client.raw.makeClientStreamRequest(
          pathOf(uploadDocument),
          (m: MessageShape<typeof UploadDocumentRequestSchema>) =>
            Buffer.from(toBinary(UploadDocumentRequestSchema, m)),
          (b: Buffer) => fromBinary(UploadDocumentResponseSchema, b),
          metadataOf(headers),
          (error, answer) => (error === null && answer !== undefined ? resolve(answer) : reject(error)),
        );
        const chunk = new Uint8Array(size);
        for (let i = 0; i < chunks; i++)
          call.write(create(UploadDocumentRequestSchema, { part: { case: "chunk", value: chunk } }));
        call.end();
      });
    const answer = await upload(edge.bearer, 100, 100_000);
    expect(answer.result).toMatchObject({ case: "document", value: { sizeBytes: 10_000_000n } });
    await expect(upload({}, 100, 100_000)).rejects.toMatchObject({ code: status.UNAUTHENTICATED });
    await expect(upload(edge.bearer, 2, 5_000_000)).rejects.toMatchObject({ code: status.RESOURCE_EXHAUSTED });
    await client.unary(getTask, { taskId: "t" }, edge.bearer);
  });

  it("answers health and its own account service itself", async () => {
    const { message } = await client.unary(AccountService.method.whoAmI, {}, edge.bearer);
    expect(message).toMatchObject({ tenantId: "default", scopes: expect.arrayContaining(["account:read"]) });
    await expect(client.unary(AccountService.method.whoAmI, {}, {})).rejects.toMatchObject({
      code: status.UNAUTHENTICATED,
    });
    const check = (request: Buffer) =>
      new Promise((resolve, reject) =>
        client.raw.makeUnaryRequest(
          "/grpc.health.v1.Health/Check",
          (b: Buffer) => b,
          (b) => b,
          request,
          (e, a) => (e === null ? resolve(a) : reject(e)),
        ),
      );
    await expect(check(Buffer.alloc(0))).resolves.toEqual(Buffer.from([8, 1]));
    await expect(check(Buffer.from("\n\u0003abc"))).rejects.toMatchObject({ code: status.NOT_FOUND });
  });

  it("names a service that cannot be reached", async () => {
    const { search } = RetrievalService.method;
    expect(search.input).toBe(SearchRequestSchema);
    await using lonely = await startEdge({ RAG_ADDRESS: "127.0.0.1:1" });
    using caller = new GrpcClient(lonely.gateway.address);
    await expect(caller.unary(search, { query: "x" }, lonely.bearer)).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringContaining("rag"),
    });
  });

  it("refuses a malformed deadline with the field", async () => {
    const session = connect(edge.url);
    const stream = session.request({
      ":method": "POST",
      ":path": pathOf(getTask),
      "content-type": "application/grpc",
      "grpc-timeout": "soon",
      ...edge.bearer,
    });
    stream.end();
    const [headers] = await once(stream, "response");
    expect(headers).toMatchObject({ "grpc-status": "3", "grpc-message": expect.stringContaining("grpc-timeout") });
    session.destroy();
  });

  it("works again, without a restart, after the service was killed and came back", async () => {
    const watching = client.stream(watchTask, { taskId: "endless" }, edge.bearer);
    const failed = once(watching, "error");
    await once(watching, "data");
    await edge.stopOrchestrator();
    const [error] = await failed;
    expect(error).toMatchObject({ code: status.UNAVAILABLE });
    await expect(client.unary(getTask, { taskId: "t" }, edge.bearer)).rejects.toMatchObject({
      code: status.UNAVAILABLE,
      details: expect.stringContaining("orchestrator"),
    });
    await edge.startOrchestrator();
    const answered = () =>
      client.unary(getTask, { taskId: "t" }, edge.bearer).then(
        () => true,
        () => false,
      );
    await expect.poll(answered).toBe(true);
  });
});
