import { createTracer, type Tracer } from "@drover/tracing";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type Harness, startHarness } from "./harness.ts";

let harness: Harness;
let tracer: Tracer;
beforeAll(async () => {
  harness = await startHarness();
  tracer = createTracer({ service: "orchestrator", bus: harness.bus });
});
afterAll(async () => {
  await tracer?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

const spansOf = (tenant: string, traceId: string) =>
  harness.client.getTrace({ traceId }, harness.as(tenant)).then(
    ({ spans }) => spans.length,
    () => 0,
  );

async function traceIn(tenant: string, taskId: string): Promise<string> {
  const root = tracer.start({ tenant, name: "work", kind: "task", taskId });
  root.payload("input", "private");
  root.event("note", { text: "private too" });
  root.end();
  await tracer.flush();
  await vi.waitUntil(async () => (await spansOf(tenant, root.context.traceId)) === 1, { timeout: 20_000 });
  return root.context.traceId;
}

test("a trace goes by its id and by its task, from its own tenant alone", async () => {
  const [one, two, three] = [await traceIn("a", "t1"), await traceIn("a", "t2"), await traceIn("a", "t3")];
  const foreign = await harness.erasure.erase({ traceIds: [one], taskIds: ["t2"] }, harness.as("b"));
  expect(foreign).toMatchObject({ removed: 0n, more: false });
  const answer = await harness.erasure.erase({ traceIds: [one], taskIds: ["t2"] }, harness.as("a"));
  expect(answer).toMatchObject({ removed: 2n, more: false });
  expect([await spansOf("a", one), await spansOf("a", two), await spansOf("a", three)]).toEqual([0, 0, 1]);
});

test("a whole tenant goes, and its neighbour stays", async () => {
  const whole = await traceIn("whole", "t");
  const neighbour = await traceIn("neighbour", "t");
  expect(await harness.erasure.erase({ wholeTenant: true }, harness.as("whole"))).toMatchObject({ removed: 1n });
  expect([await spansOf("whole", whole), await spansOf("neighbour", neighbour)]).toEqual([0, 1]);
});
