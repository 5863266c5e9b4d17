import { createClient } from "@connectrpc/connect";
import { EchoService } from "@drover/proto/test/v1/echo_service";
import { expect, test } from "vitest";
import { actingAs, createRpcTransport, type RpcServerOptions } from "../src/index.ts";
import { ada, echo, startEcho } from "./echo.ts";

const contextValues = actingAs(ada);

/** A server whose answers say which one it is. */
function named(name: string, options: Partial<RpcServerOptions> = {}) {
  return startEcho((router) => router.service(EchoService, { ...echo, echo: () => ({ text: name }) }), options);
}

test("200 open watches hold up neither a unary call nor each other, even at 100 streams a connection", async () => {
  await using fixture = await named("a", { limits: { maxConcurrentStreams: 100 } });
  const client = createClient(EchoService, fixture.transport());
  const controller = new AbortController();
  const opened = Array.from({ length: 200 }, () => Promise.withResolvers<void>());
  const watches = opened.map(async ({ resolve }) => {
    for await (const _ of client.watch({ n: 0 }, { contextValues, signal: controller.signal })) resolve();
  });
  const ended = Promise.allSettled(watches);
  await Promise.all(opened.map(({ promise }) => promise));
  // No watch ends before the abort, so a call that one of them held up would miss its deadline.
  expect((await client.echo({}, { contextValues, timeoutMs: 20_000 })).text).toBe("a");
  controller.abort();
  const results = await ended;
  expect(results.every(({ status }) => status === "rejected")).toBe(true);
});

test("calls go round over the servers, and on when one of them dies", async () => {
  await using one = await named("one");
  const two = await named("two");
  const addresses = [one.server.address, two.server.address];
  const client = createClient(EchoService, one.transport({ addresses }));
  const call = async () => (await client.echo({}, { contextValues })).text;
  const counts = { one: 0, two: 0 };
  await call();
  for (let i = 0; i < 100; i++) counts[(await call()) === "one" ? "one" : "two"]++;
  expect(counts.one).toBeGreaterThan(30);
  expect(counts.two).toBeGreaterThan(30);
  await two[Symbol.asyncDispose]();
  const after = await Promise.all(Array.from({ length: 50 }, call));
  expect(new Set(after)).toEqual(new Set(["one"]));
});

test("names and addresses of several kinds are balanced too", async () => {
  await using one = await named("one");
  await using two = await named("two");
  const local = two.server.address.replace("127.0.0.1", "localhost");
  const client = createClient(EchoService, one.transport({ addresses: `${one.server.address},${local}` }));
  const texts = new Set<string>();
  for (let i = 0; i < 10; i++) texts.add((await client.echo({}, { contextValues })).text);
  expect(texts).toEqual(new Set(["one", "two"]));
});

test("where nobody listens, the error comes at once and names the service; its address is for logs", async () => {
  await using fixture = await named("a");
  const addresses = "127.0.0.1:1";
  await using transport = createRpcTransport({ addresses, audience: "sandbox", minter: fixture.minter });
  const client = createClient(EchoService, transport);
  const expected = {
    code: "UNAVAILABLE",
    reason: "PEER_UNREACHABLE",
    message: "The service sandbox cannot be reached.",
    retryable: true,
    cause: { message: "No answer from 127.0.0.1:1." },
  };
  // Waiting for the peer would end with DEADLINE_EXCEEDED, or never.
  await expect(client.echo({}, { contextValues, timeoutMs: 20_000 })).rejects.toMatchObject(expected);
  await expect(Array.fromAsync(client.watch({}, { contextValues }))).rejects.toMatchObject(expected);
});

test("a server that comes back is found again", async () => {
  const first = await named("first");
  const { address } = first.server;
  await using other = await named("other");
  const client = createClient(EchoService, other.transport({ addresses: address, limits: { minReconnectMs: 50 } }));
  const { minter } = first;
  expect(minter).toBeDefined();
  await client.echo({}, { contextValues });
  await first[Symbol.asyncDispose]();
  await expect(client.echo({}, { contextValues })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  await using _second = await named("second", { listen: address });
  await expect
    .poll(() =>
      client.echo({}, { contextValues }).then(
        ({ text }) => text,
        () => "away",
      ),
    )
    .toBe("second");
});

test("connections that reach their age are replaced without a failed call", async () => {
  await using fixture = await named("a", { limits: { maxConnectionAgeMs: 50, maxConnectionAgeGraceMs: 1000 } });
  const client = createClient(EchoService, fixture.transport());
  const endMs = performance.now() + 1000;
  let calls = 0;
  const caller = async () => {
    for (; performance.now() < endMs; calls++) await client.echo({}, { contextValues });
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  expect(calls).toBeGreaterThan(8);
});
