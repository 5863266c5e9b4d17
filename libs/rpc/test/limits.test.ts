import { connect } from "node:http2";
import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { EchoRequestSchema, EchoService } from "@drover/proto/test/v1/echo_service";
import fc from "fast-check";
import { expect, test } from "vitest";
import { actingAs } from "../src/index.ts";
import { ada, type EchoFixture, echo, startEcho } from "./echo.ts";

const contextValues = actingAs(ada);
const serve: Parameters<typeof startEcho>[0] = (router) => router.service(EchoService, echo);

interface RawAnswer {
  readonly status: string;
  readonly message: string;
}

/** Sends frames as they are, which no client library would; every value is a header or a body of bytes. */
async function raw(fixture: EchoFixture, body: Buffer, headers: Record<string, string> = {}): Promise<RawAnswer> {
  const session = connect(`http://${fixture.server.address}`);
  try {
    const token = await fixture.minter.mint(ada, "test");
    const stream = session.request({
      ":method": "POST",
      ":path": "/drover.test.v1.EchoService/Echo",
      "content-type": "application/grpc",
      te: "trailers",
      "x-drover-identity": token,
      ...headers,
    });
    const answer = new Promise<RawAnswer>((resolve, reject) => {
      const take = (received: object) => {
        const { "grpc-status": status, "grpc-message": message }: Record<string, unknown> = { ...received };
        if (status !== undefined) resolve({ status: String(status), message: decodeURI(String(message ?? "")) });
      };
      stream.on("response", take).on("trailers", take).on("error", reject);
      stream.on("close", () => reject(new Error("closed without a status")));
    });
    stream.resume();
    stream.end(body);
    return await answer;
  } finally {
    session.destroy();
  }
}

function frame(message: Uint8Array, compressed = 0): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt8(compressed, 0);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([head, message]);
}

const request = (text: string) => toBinary(EchoRequestSchema, create(EchoRequestSchema, { text }));

test("a message above the limit is refused by the sender, and by the server when sent all the same", async () => {
  await using fixture = await startEcho(serve, { limits: { maxMessageBytes: 10_000 } });
  const text = "x".repeat(11_000);
  const careful = createClient(EchoService, fixture.transport({ limits: { maxMessageBytes: 10_000 } }));
  await expect(careful.echo({ text }, { contextValues })).rejects.toMatchObject({
    code: "RESOURCE_EXHAUSTED",
    reason: "MESSAGE_TOO_LARGE",
    metadata: { max_bytes: "10000" },
  });
  const careless = createClient(EchoService, fixture.transport());
  await expect(careless.echo({ text }, { contextValues })).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED" });
  expect((await careless.echo({ text: "ok" }, { contextValues })).text).toBe("ok");
});

test("an answer above the limit is an error that names the limit, not a broken stream", async () => {
  await using fixture = await startEcho(
    (router) => router.service(EchoService, { echo: () => ({ text: "x".repeat(20_000) }) }),
    { limits: { maxMessageBytes: 10_000 } },
  );
  const client = createClient(EchoService, fixture.transport());
  await expect(client.echo({}, { contextValues })).rejects.toMatchObject({ reason: "MESSAGE_TOO_LARGE" });
});

test("a gzip bomb is refused while it is unpacked, and memory stays bounded", async () => {
  await using fixture = await startEcho(serve);
  const bomb = gzipSync(request("a".repeat(200 * 1024 ** 2)));
  expect(bomb.length).toBeLessThan(300_000);
  const before = process.memoryUsage.rss();
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => raw(fixture, frame(bomb, 1), { "grpc-encoding": "gzip" })),
  );
  for (const { status } of answers) expect(status).toBe("8");
  expect(process.memoryUsage.rss() - before).toBeLessThan(150 * 1024 ** 2);
  const small = await raw(fixture, frame(gzipSync(request("ok")), 1), { "grpc-encoding": "gzip" });
  expect(small.status).toBe("0");
});

test("too much metadata, bytes that do not decode and a length that lies are refused", async () => {
  await using fixture = await startEcho(serve);
  const fine = frame(request("ok"));
  expect(await raw(fixture, fine, { "x-big": "x".repeat(17_000) })).toMatchObject({
    status: "8",
    message: expect.stringContaining("allowed 16384"),
  });
  const malformed = await raw(fixture, frame(Buffer.from([0xff, 0xff, 0xff])));
  expect(malformed).toMatchObject({ status: "3", message: expect.stringContaining("drover.test.v1.EchoRequest") });
  const lying = Buffer.from(fine);
  lying.writeUInt32BE(0xffff_ffff, 1);
  expect((await raw(fixture, lying)).status).toBe("8");
  expect((await raw(fixture, fine)).status).toBe("0");
});

test("a NUL in a text is refused by its field, on unary calls and on streams", async () => {
  await using fixture = await startEcho(serve);
  const client = createClient(EchoService, fixture.transport());
  const refused = { code: "INVALID_ARGUMENT", violations: [{ field: "text", found: "a NUL" }] };
  await expect(client.echo({ text: "a\0" }, { contextValues })).rejects.toMatchObject(refused);
  const watch = client.watch({ text: "\0", n: 1 }, { contextValues });
  await expect(watch[Symbol.asyncIterator]().next()).rejects.toMatchObject(refused);
  async function* words() {
    yield* [{ text: "fine" }, { text: "\0" }];
  }
  const chat = client.chat(words(), { contextValues })[Symbol.asyncIterator]();
  expect(await chat.next()).toMatchObject({ value: { text: "fine" } });
  await expect(chat.next()).rejects.toMatchObject(refused);
});

test("metadata with line breaks or odd characters never leaves the client", async () => {
  await using fixture = await startEcho(serve);
  const client = createClient(EchoService, fixture.transport());
  const call = (name: string, value: string) => client.echo({ text: "a" }, { contextValues, headers: [[name, value]] });
  await expect(call("x-note", "a\r\nx-drover-identity: forged")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(call("x-note\r\nx-evil", "a")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await expect(call("x-note", "é")).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), async (name, value) => {
      const outcome = await call(`x-${name}`, value).then(
        ({ text }) => text,
        (error: unknown) => Object(error).code,
      );
      expect(["a", "INVALID_ARGUMENT"]).toContain(outcome);
    }),
    { numRuns: 200 },
  );
});

test("headers cannot replace the identity or the trace of the context values", async () => {
  await using fixture = await startEcho(serve);
  const client = createClient(EchoService, fixture.transport());
  const headers = { "x-drover-identity": "forged", traceparent: "junk" };
  expect((await client.echo({ text: "a" }, { contextValues, headers })).text).toBe("a");
  await expect(client.echo({ text: "a" }, { headers })).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
});
