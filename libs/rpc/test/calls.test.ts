import { setTimeout as sleep } from "node:timers/promises";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { EchoService } from "@drover/proto/test/v1/echo_service";
import { expect, test } from "vitest";
import { actingAs, callerOf, type IdentityMinter, traceOf } from "../src/index.ts";
import { ada, type EchoImplementation, echo, startEcho } from "./echo.ts";

const trace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
const contextValues = actingAs(ada, trace);

const startWith = (implementation: EchoImplementation) =>
  startEcho((router) => router.service(EchoService, { ...echo, ...implementation }));

test("all four kinds of methods", async () => {
  await using fixture = await startWith({});
  const client = createClient(EchoService, fixture.transport());
  expect((await client.echo({ text: "hallo" }, { contextValues })).text).toBe("hallo");
  const seen: number[] = [];
  for await (const { sequence } of client.watch({ text: "a", n: 100 }, { contextValues })) seen.push(sequence);
  expect(seen).toEqual(Array.from({ length: 100 }, (_, i) => i + 1));
  expect(await client.upload(chunks(50, 1000), { contextValues })).toMatchObject({ bytes: 50_000n, chunks: 50 });
  expect(await client.upload(chunks(0, 0), { contextValues })).toMatchObject({ bytes: 0n, chunks: 0 });
  const answers: string[] = [];
  for await (const { text } of client.chat(words(["a", "b", "c"]), { contextValues })) answers.push(text);
  expect(answers).toEqual(["a", "b", "c"]);
});

test("a handler knows its caller, trace, headers and remaining time, and sends headers and trailers", async () => {
  const seen: unknown[] = [];
  await using fixture = await startWith({
    echo(request, context) {
      seen.push(callerOf(context), traceOf(context), context.requestHeader.get("x-note"), context.timeoutMs());
      context.responseHeader.set("x-from", "handler");
      context.responseTrailer.set("x-end-bin", "AQID");
      return { text: request.text };
    },
  });
  const client = createClient(EchoService, fixture.transport());
  const heads: (string | null)[] = [];
  await client.echo(
    { text: "a" },
    {
      contextValues,
      headers: { "x-note": "hi" },
      timeoutMs: 5000,
      onHeader: (header) => heads.push(header.get("x-from")),
      onTrailer: (trailer) => heads.push(trailer.get("x-end-bin")),
    },
  );
  expect(seen.slice(0, 3)).toEqual([ada, trace, "hi"]);
  expect(seen[3]).toBeGreaterThan(4000);
  expect(seen[3]).toBeLessThanOrEqual(5000);
  expect(heads).toEqual(["handler", "AQID"]);
});

test("a stream's headers come before its first message", async () => {
  const first = Promise.withResolvers<void>();
  await using fixture = await startWith({
    async *watch(_, context) {
      context.responseHeader.set("x-open", "yes");
      await first.promise;
      yield { sequence: 1 };
    },
  });
  const client = createClient(EchoService, fixture.transport());
  const opened = Promise.withResolvers<string | null>();
  const reading = collect(
    client.watch({}, { contextValues, onHeader: (header) => opened.resolve(header.get("x-open")) }),
  );
  expect(await opened.promise).toBe("yes");
  first.resolve();
  expect(await reading).toHaveLength(1);
});

test("an error keeps its code, violations, retry delay and metadata, on unary calls and streams", async () => {
  const error = new DroverError("RESOURCE_EXHAUSTED", "The queue is full.", {
    reason: "QUEUE_FULL",
    retryAfterMs: 1500,
    metadata: { limit: "10" },
    cause: new Error("secret cause"),
  });
  await using fixture = await startWith({
    upload: () => Promise.reject(error),
    async *watch() {
      yield { sequence: 1 };
      throw error;
    },
    // biome-ignore lint/correctness/useYield: fails before the first message
    async *chat() {
      throw error;
    },
  });
  const client = createClient(EchoService, fixture.transport());
  await expect(client.echo({ text: "fail" }, { contextValues })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    violations: [{ field: "text", found: '"fail"', allowed: "anything else" }],
  });
  const expected = { code: "RESOURCE_EXHAUSTED", reason: "QUEUE_FULL", retryAfterMs: 1500, metadata: { limit: "10" } };
  await expect(client.upload(chunks(3, 10), { contextValues })).rejects.toMatchObject(expected);
  await expect(collect(client.chat(words(["a"]), { contextValues }))).rejects.toMatchObject(expected);
  const seen: number[] = [];
  const read = async () => {
    for await (const { sequence } of client.watch({}, { contextValues })) seen.push(sequence);
  };
  await expect(read()).rejects.toMatchObject(expected);
  expect(seen).toEqual([1]);
});

test("an unexpected error is neutral to the caller and whole in the log, with the trace", async () => {
  await using fixture = await startWith({
    echo() {
      throw new Error("relation drover.secret does not exist");
    },
  });
  const client = createClient(EchoService, fixture.transport());
  const failure = await client.echo({}, { contextValues }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "INTERNAL", message: "Internal error." });
  const line = fixture.logs.find(({ message }) => message === "rpc failed");
  expect(line).toMatchObject({ level: "error", code: "INTERNAL", trace_id: trace.traceId, tenant: "t1" });
  expect(JSON.stringify(line)).toContain("relation drover.secret");
  expect(await fixture.metrics.render()).toMatch(
    /drover_rpc_server_seconds_count\{.*method="drover.test.v1.EchoService\/Echo".*code="INTERNAL".*\} 1/,
  );
});

test("cancelling reaches the handler's signal and the caller gets the signal's reason", async () => {
  const aborted: string[] = [];
  const reached: string[] = [];
  const hang = (name: string) => (_: unknown, context: { signal: AbortSignal }) =>
    new Promise<never>((_resolve, reject) => {
      reached.push(name);
      context.signal.addEventListener("abort", () => {
        aborted.push(`${name} ${context.signal.reason.code}`);
        reject(context.signal.reason);
      });
    });
  await using fixture = await startWith({ echo: hang("echo"), upload: hang("upload") });
  const client = createClient(EchoService, fixture.transport());
  const controller = new AbortController();
  const { signal } = controller;
  const calls = [
    client.echo({}, { signal, contextValues }),
    client.upload(chunks(1, 1), { signal, contextValues }),
    collect(client.watch({ n: 0 }, { signal, contextValues })),
    collect(client.chat(endless(), { signal, contextValues })),
  ];
  const settled = Promise.allSettled(calls);
  await expect.poll(() => reached.sort()).toEqual(["echo", "upload"]);
  controller.abort(new DroverError("ABORTED", "The task was cancelled."));
  for (const result of await settled) {
    expect(result).toMatchObject({
      status: "rejected",
      reason: { code: "ABORTED", message: "The task was cancelled." },
    });
  }
  await expect.poll(() => aborted.sort()).toEqual(["echo CANCELLED", "upload CANCELLED"]);
  await expect(client.echo({}, { signal, contextValues })).rejects.toMatchObject({ code: "ABORTED" });
});

test("leaving the loop ends the stream at the server", async () => {
  const ended = Promise.withResolvers<void>();
  await using fixture = await startWith({
    async *watch(_, context) {
      try {
        for (let sequence = 1; ; sequence++) {
          yield { sequence };
          await sleep(1, undefined, { signal: context.signal });
        }
      } finally {
        ended.resolve();
      }
    },
  });
  const client = createClient(EchoService, fixture.transport());
  for await (const { sequence } of client.watch({}, { contextValues })) if (sequence === 3) break;
  await ended.promise;
});

test("deadlines: the caller's and the server's cap", async () => {
  const reasons: string[] = [];
  const implementation: EchoImplementation = {
    echo: ({ text }, { signal }) =>
      new Promise((resolve, reject) => {
        if (text !== "") resolve({ text });
        signal.addEventListener("abort", () => {
          if (text === "") reasons.push(signal.reason.code);
          reject(signal.reason);
        });
      }),
  };
  const start = (maxUnaryMs: number) =>
    startEcho((router) => router.service(EchoService, implementation), { limits: { maxUnaryMs } });
  const exceeded = { code: "DEADLINE_EXCEEDED" };
  // Each time the other of the two deadlines is longer than the test may take.
  await using patient = await start(300_000);
  const client = createClient(EchoService, patient.transport());
  await client.echo({ text: "connected" }, { contextValues });
  await expect(client.echo({}, { contextValues, timeoutMs: 200 })).rejects.toMatchObject(exceeded);
  await using strict = await start(60);
  const capped = createClient(EchoService, strict.transport());
  await expect(capped.echo({}, { contextValues, timeoutMs: 300_000 })).rejects.toMatchObject(exceeded);
  // The caller's reset may be here a moment before the server's own clock says that its time is over.
  const either = expect.stringMatching(/^(DEADLINE_EXCEEDED|CANCELLED)$/);
  await expect.poll(() => reasons).toEqual([either, "DEADLINE_EXCEEDED"]);
});

test("a call that ends with a signal tells the signal's reason, also one in Connect's words", async () => {
  await using fixture = await startWith({ echo: () => new Promise<never>(() => {}) });
  const client = createClient(EchoService, fixture.transport());
  for (const [reason, code] of [
    [new ConnectError("late", Code.DeadlineExceeded), "DEADLINE_EXCEEDED"],
    [new DOMException("late", "TimeoutError"), "DEADLINE_EXCEEDED"],
    [new Error("whatever"), "CANCELLED"],
  ] as const) {
    const controller = new AbortController();
    const call = client.echo({}, { contextValues, signal: controller.signal });
    setTimeout(() => controller.abort(reason), 20);
    await expect(call).rejects.toMatchObject({ code });
    await expect(client.echo({}, { contextValues, signal: controller.signal })).rejects.toMatchObject({ code });
  }
});

test("a signal that aborts while the identity is made ends the call", async () => {
  await using fixture = await startWith({ echo: () => new Promise<never>(() => {}) });
  for (const kind of ["unary", "stream"] as const) {
    const controller = new AbortController();
    const minter: IdentityMinter = {
      async mint(caller, audience) {
        controller.abort();
        return await fixture.minter.mint(caller, audience);
      },
    };
    const client = createClient(EchoService, fixture.transport({ minter }));
    const options = { contextValues, signal: controller.signal };
    const call = async () => {
      if (kind === "unary") await client.echo({}, options);
      else for await (const _ of client.watch({}, options));
    };
    await expect(call()).rejects.toMatchObject({ code: "CANCELLED" });
  }
});

test("a slow reader holds up its writer instead of filling memory", async () => {
  let produced = 0;
  await using fixture = await startWith({
    async *watch() {
      for (; produced < 100_000; produced++) yield { text: "x".repeat(10_000) };
    },
  });
  const client = createClient(EchoService, fixture.transport());
  let read = 0;
  for await (const _ of client.watch({}, { contextValues })) {
    if (++read === 5) {
      await sleep(200);
      expect(produced).toBeLessThan(1000);
      break;
    }
  }
});

async function* chunks(n: number, size: number) {
  for (let i = 0; i < n; i++) yield { data: new Uint8Array(size) };
}

async function* endless() {
  for (;;) {
    yield { text: "a" };
    await sleep(1);
  }
}

async function* words(texts: readonly string[]) {
  for (const text of texts) yield { text };
}

async function collect<T>(messages: AsyncIterable<T>): Promise<T[]> {
  return await Array.fromAsync(messages);
}
