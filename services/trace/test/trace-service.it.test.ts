import { DroverError, type ErrorCode } from "@drover/kernel";
import { type Span as ProtoSpan, SpanState } from "@drover/proto/trace/v1/trace";
import { attr, createTracer, newTraceContext, type Tracer } from "@drover/tracing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Harness, startHarness } from "./harness.ts";

let harness: Harness;
let tracer: Tracer;

beforeAll(async () => {
  harness = await startHarness({ DROVER_TRACE_QUIET_MS: "300" });
  tracer = createTracer({ service: "orchestrator", bus: harness.bus });
});

afterAll(async () => {
  await tracer?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

/** A finished task: a root, a model call, a tool call that failed. */
async function runTask(tenant: string, name = "Investigate the order") {
  const root = tracer.start({ tenant, name, kind: "task", taskId: `task-${name.length}` });
  const model = tracer.start({ tenant, name: "decide", kind: "model", parent: root.context });
  model.event("thinking", { text: "Look at the order." });
  model.payload("input", "What is wrong?");
  model.payload("output", "\u0000 and \ud800 are not storable as they are");
  model.end({ attributes: { [attr.inputTokens]: 120, [attr.outputTokens]: 30, [attr.costNanoUsd]: 4_200 } });
  const tool = tracer.start({ tenant, name: "gateway_log", kind: "tool", parent: root.context });
  tool.end({ error: "The log is gone.", attributes: { [attr.inputTokens]: 999 } });
  root.end({ attributes: { [attr.taskState]: "SUCCEEDED" } });
  await tracer.flush();
  return { traceId: root.context.traceId, root, model, tool };
}

/** Watches until the stream ends or `until` says so; gives every message's revision and the newest spans. */
async function watch(traceId: string, tenant: string, after = 0n, until?: (spans: Map<string, ProtoSpan>) => boolean) {
  const spans = new Map<string, ProtoSpan>();
  const revisions: bigint[] = [];
  for await (const piece of harness.client.watchTrace({ traceId, afterRevision: after }, harness.as(tenant))) {
    revisions.push(piece.revision);
    for (const span of piece.spans) {
      if (span.revision >= (spans.get(span.spanId)?.revision ?? 0n)) spans.set(span.spanId, span);
    }
    if (until?.(spans)) break;
  }
  return { spans, revisions };
}

async function codeOf(call: Promise<unknown>): Promise<ErrorCode | undefined> {
  return await call.then(
    () => undefined,
    (error: unknown) => DroverError.from(error).code,
  );
}

describe("TraceService", () => {
  it("stores what a tracer sends: skeleton, sums, payloads", async () => {
    const { traceId, model, root } = await runTask("acme");
    const { spans } = await watch(traceId, "acme");
    expect(spans.size).toBe(3);
    const { trace, spans: listed } = await harness.client.getTrace({ traceId }, harness.as("acme"));
    expect(trace).toMatchObject({
      name: "Investigate the order",
      rootKind: "task",
      taskState: "SUCCEEDED",
      running: false,
      spanCount: 3,
      errorCount: 1,
      usage: { inputTokens: 120n, outputTokens: 30n, costNanoUsd: 4_200n },
    });
    expect(listed.map(({ name }) => name)).toEqual(["Investigate the order", "decide", "gateway_log"]);
    expect(listed[1]).toMatchObject({ parentSpanId: root.context.spanId, state: SpanState.ENDED });
    expect(listed[1]?.events).toMatchObject([{ kind: "thinking", text: "Look at the order." }]);
    const one = await harness.client.getSpan({ traceId, spanId: model.context.spanId }, harness.as("acme"));
    expect(one.payloads).toMatchObject([
      { slot: "input", text: "What is wrong?", totalCharacters: 14n },
      { slot: "output", text: "\u2400 and \ufffd are not storable as they are" },
    ]);
  });

  it("shows a watcher that a span has started before it ends", async () => {
    const context = newTraceContext();
    const open = Promise.withResolvers<void>();
    const watching = watch(context.traceId, "acme", 0n, (spans) => {
      open.resolve();
      return [...spans.values()].some(({ name, state }) => name === "slow" && state === SpanState.STARTED);
    });
    await open.promise;
    const slow = tracer.start({ tenant: "acme", name: "slow", kind: "tool", identity: context });
    const { spans, revisions } = await watching;
    expect(revisions[0]).toBe(0n);
    expect([...spans.values()][0]).toMatchObject({ name: "slow", endNs: 0n });
    slow.end();
    await tracer.flush();
  });

  it("resumes after a revision without a gap, and ends when the trace is complete", async () => {
    const tenant = "acme";
    const root = tracer.start({ tenant, name: "many", kind: "task" });
    await tracer.flush();
    const first = await watch(root.context.traceId, tenant, 0n, (spans) => spans.size === 1);
    for (let i = 0; i < 200; i++) {
      tracer.start({ tenant, name: `call ${i}`, kind: "tool", parent: root.context }).end();
      if (i % 50 === 0) await tracer.flush();
    }
    root.end();
    await tracer.flush();
    const second = await watch(root.context.traceId, tenant, first.revisions.at(-1));
    const all = new Map([...first.spans, ...second.spans]);
    expect(all.size).toBe(201);
    expect([...all.values()].every(({ state }) => state === SpanState.ENDED)).toBe(true);
    const third = await watch(root.context.traceId, tenant, second.revisions.at(-1));
    expect(third).toMatchObject({ revisions: [second.revisions.at(-1)], spans: new Map() });
  });

  it("sends a large trace in pieces and says so where one answer cannot hold it", async () => {
    const tenant = "large";
    const root = tracer.start({ tenant, name: "large", kind: "task" });
    for (let i = 0; i < 1_500; i++) {
      const span = tracer.start({ tenant, name: `call ${i}`, kind: "tool", parent: root.context });
      span.event("tool_output", { text: "lorem ipsum ".repeat(170) });
      span.end();
    }
    root.end();
    await tracer.flush();
    const { spans, revisions } = await watch(root.context.traceId, tenant);
    expect(spans.size).toBe(1_501);
    expect(revisions.length).toBeGreaterThan(4);
    expect(revisions).toEqual([...revisions].sort((a, b) => Number(a - b)));
    const whole = harness.client.getTrace({ traceId: root.context.traceId }, harness.as(tenant));
    expect(await codeOf(whole)).toBe("FAILED_PRECONDITION");
  });

  it("pages through traces, newest first, and by task", async () => {
    for (const name of ["a", "bb", "ccc"]) await watch((await runTask("pages", name)).traceId, "pages");
    const first = await harness.client.listTraces({ pageSize: 2 }, harness.as("pages"));
    expect(first.traces.map(({ name }) => name)).toEqual(["ccc", "bb"]);
    const rest = await harness.client.listTraces({ pageSize: 2, pageToken: first.nextPageToken }, harness.as("pages"));
    expect(rest.traces.map(({ name }) => name)).toEqual(["a"]);
    expect(rest.nextPageToken).toBe("");
    const one = await harness.client.listTraces({ taskId: "task-2" }, harness.as("pages"));
    expect(one.traces.map(({ name }) => name)).toEqual(["bb"]);
    expect(await codeOf(harness.client.listTraces({ pageToken: "x" }, harness.as("pages")))).toBe("INVALID_ARGUMENT");
  });

  it("keeps tenants apart in every rpc", async () => {
    const { traceId, model } = await runTask("acme");
    await watch(traceId, "acme");
    const other = harness.as("intruder");
    expect(await codeOf(harness.client.getTrace({ traceId }, other))).toBe("NOT_FOUND");
    expect(await codeOf(harness.client.getSpan({ traceId, spanId: model.context.spanId }, other))).toBe("NOT_FOUND");
    expect((await harness.client.listTraces({}, other)).traces).toEqual([]);
    const patience = AbortSignal.timeout(1_000);
    const seen: unknown[] = [];
    const watching = (async () => {
      for await (const piece of harness.client.watchTrace({ traceId }, harness.as("intruder", patience))) {
        seen.push(...piece.spans, ...(piece.trace === undefined ? [] : [piece.trace]));
      }
    })();
    expect(await codeOf(watching)).toBe("DEADLINE_EXCEEDED");
    expect(seen).toEqual([]);
  });

  it("names the field of a bad request", async () => {
    const as = harness.as("acme");
    expect(await codeOf(harness.client.getTrace({ traceId: "x" }, as))).toBe("INVALID_ARGUMENT");
    expect(await codeOf(harness.client.getSpan({ traceId: "a".repeat(32), spanId: "" }, as))).toBe("INVALID_ARGUMENT");
    const watching = watch("../etc/passwd", "acme");
    await expect(watching).rejects.toThrow(/trace_id: found "..\/etc\/passwd", allowed 32 hexadecimal digits/);
  });
});
