import { SpanState } from "@drover/proto/trace/v1/trace";
import { attr, createTracer } from "@drover/tracing";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type Harness, startHarness } from "./harness.ts";

let harness: Harness;

beforeAll(async () => {
  harness = await startHarness({ DROVER_TRACE_SETTLE_MS: "1500", DROVER_TRACE_SWEEP_MS: "100" });
});

afterAll(async () => void (await harness?.[Symbol.asyncDispose]()));

const tenant = "acme";
const settled = 20_000;

/** A task whose worker was lost in the middle of a round, and which another one ended. */
async function endedByAnother(isOver: boolean) {
  const lost = createTracer({ service: "orchestrator", bus: harness.bus, limits: { heartbeatMs: 3_600_000 } });
  const task = lost.start({ tenant, name: "Find out", kind: "task" });
  const round = lost.start({ tenant, name: "round 1", kind: "round", parent: task.context });
  await lost.flush();
  const { traceId, spanId } = round.context;
  if (isOver) task.end({ attributes: { [attr.taskState]: "SUCCEEDED" } });
  await lost.flush();
  const stateOf = async () =>
    (await harness.client.getSpan({ traceId, spanId }, harness.as(tenant)).catch(() => undefined))?.span?.state;
  return { traceId, stateOf, close: () => lost[Symbol.asyncDispose]() };
}

it("closes what a lost worker left of a task that has ended, and leaves that of a task that goes on", async () => {
  const going = await endedByAnother(false);
  const over = await endedByAnother(true);
  await vi.waitFor(async () => expect(await over.stateOf()).toBe(SpanState.FORCED), settled);
  const { trace } = await harness.client.getTrace({ traceId: over.traceId }, harness.as(tenant));
  expect(trace).toMatchObject({ running: false, taskState: "SUCCEEDED" });
  expect(await going.stateOf()).toBe(SpanState.STARTED);
  await going.close();
  await over.close();
});

it("leaves open what somebody still vouches for, though the task has ended", async () => {
  const alive = createTracer({ service: "sandbox", bus: harness.bus, limits: { heartbeatMs: 200 } });
  const task = alive.start({ tenant, name: "Find out", kind: "task" });
  const run = alive.start({ tenant, name: "run python", kind: "sandbox", parent: task.context });
  task.end({ attributes: { [attr.taskState]: "CANCELLED" } });
  await alive.flush();
  const over = await endedByAnother(true);
  // By the time that the other's is closed, this one has been as silent as that but for its heartbeats.
  await vi.waitFor(async () => expect(await over.stateOf()).toBe(SpanState.FORCED), settled);
  const { traceId, spanId } = run.context;
  const { span } = await harness.client.getSpan({ traceId, spanId }, harness.as(tenant));
  expect(span?.state).toBe(SpanState.STARTED);
  run.end();
  await alive[Symbol.asyncDispose]();
  await over.close();
});
