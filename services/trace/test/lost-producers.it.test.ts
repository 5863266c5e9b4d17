import { subjects } from "@drover/bus";
import { DroverError } from "@drover/kernel";
import { SpanState } from "@drover/proto/trace/v1/trace";
import { attr, createTracer } from "@drover/tracing";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type Harness, startHarness } from "./harness.ts";

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({ DROVER_TRACE_SILENT_MS: "2000", DROVER_TRACE_SWEEP_MS: "200" });
});

afterAll(async () => void (await harness?.[Symbol.asyncDispose]()));

const tenant = "acme";

async function spanOf(traceId: string, spanId: string) {
  const { span } = await harness.client.getSpan({ traceId, spanId }, harness.as(tenant));
  return span;
}

it("closes a span whose producer was lost, and a real end replaces that", async () => {
  const lost = createTracer({ service: "sandbox", bus: harness.bus, limits: { heartbeatMs: 60_000 } });
  const span = lost.start({ tenant, name: "run_code", kind: "sandbox" });
  await lost.flush();
  const { traceId, spanId } = span.context;
  await vi.waitFor(async () => expect((await spanOf(traceId, spanId))?.state).toBe(SpanState.FORCED), 10_000);
  const forced = await spanOf(traceId, spanId);
  expect(forced?.error).toMatch(/process was lost/);
  expect(forced?.endNs).toBeGreaterThan(0n);
  expect((await harness.client.getTrace({ traceId }, harness.as(tenant))).trace).toMatchObject({ running: false });
  span.end();
  await lost[Symbol.asyncDispose]();
  await vi.waitFor(async () => expect((await spanOf(traceId, spanId))?.state).toBe(SpanState.ENDED), 10_000);
  expect((await spanOf(traceId, spanId))?.error).toBe("");
});

it("leaves a span open as long as its producer vouches for it", async () => {
  const alive = createTracer({ service: "orchestrator", bus: harness.bus, limits: { heartbeatMs: 100 } });
  const span = alive.start({ tenant, name: "waiting", kind: "wait" });
  await alive.flush();
  await new Promise((resolve) => setTimeout(resolve, 4_500));
  expect((await spanOf(span.context.traceId, span.context.spanId))?.state).toBe(SpanState.STARTED);
  span.end();
  await alive[Symbol.asyncDispose]();
});

it("leaves the wait for an approval and its task open though nobody speaks for them, and closes other spans", async () => {
  const gone = createTracer({ service: "orchestrator", bus: harness.bus, limits: { heartbeatMs: 60_000 } });
  const task = gone.start({ tenant, name: "Ask first", kind: "task" });
  const attributes = { [attr.waitFor]: "approval", [attr.approvalId]: "an-approval" };
  const wait = gone.start({ tenant, name: "approval of bash", kind: "wait", parent: task.context, attributes });
  const round = gone.start({ tenant, name: "round 1", kind: "round", parent: task.context });
  await gone.flush();
  const { traceId } = task.context;
  const stateOf = async (span: typeof task) => (await spanOf(traceId, span.context.spanId))?.state;
  await vi.waitFor(async () => expect(await stateOf(round)).toBe(SpanState.FORCED), 10_000);
  expect([await stateOf(task), await stateOf(wait)]).toEqual([SpanState.STARTED, SpanState.STARTED]);
  wait.end({ attributes: { [attr.approvalDecision]: "approved" } });
  await gone.flush();
  // From now on somebody has to speak for the task again.
  await vi.waitFor(async () => expect(await stateOf(task)).toBe(SpanState.FORCED), 10_000);
  expect(await stateOf(wait)).toBe(SpanState.ENDED);
  await gone[Symbol.asyncDispose]();
});

it("goes on after a restart with what was sent meanwhile, and stops at no poisoned message", async () => {
  const tracer = createTracer({ service: "orchestrator", bus: harness.bus });
  const span = tracer.start({ tenant, name: "before", kind: "tool" });
  await tracer.flush();
  const { traceId } = span.context;
  await vi.waitFor(() => spanOf(traceId, span.context.spanId), 10_000);

  const open = Promise.withResolvers<void>();
  const watching = (async () => {
    for await (const _ of harness.client.watchTrace({ traceId }, harness.as(tenant))) open.resolve();
  })();
  const ended = watching.catch((error: unknown) => DroverError.from(error).code);
  await open.promise;
  await harness.stop();
  expect(await ended).toBe("UNAVAILABLE");

  await harness.bus.enqueue(subjects.trace(tenant, traceId), new Uint8Array([255, 255, 255]), "poison");
  span.event("note", { text: "sent while the service was down" });
  span.end();
  await tracer[Symbol.asyncDispose]();
  await harness.start();
  await vi.waitFor(async () => {
    const found = await spanOf(traceId, span.context.spanId);
    expect(found?.state).toBe(SpanState.ENDED);
    expect(found?.events).toHaveLength(1);
  }, 15_000);
});
