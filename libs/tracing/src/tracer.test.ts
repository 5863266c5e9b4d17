import { fromBinary } from "@bufbuild/protobuf";
import type { Bus } from "@drover/bus";
import { DroverError } from "@drover/kernel";
import { type TraceFrame, TraceFrameSchema } from "@drover/proto/event/v1/trace_frame";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { attr } from "./schema.ts";
import { createTracer, type TracerLimits } from "./tracer.ts";

interface Sent {
  readonly subject: string;
  readonly id: string;
  readonly frame: TraceFrame;
  readonly bytes: number;
}

/** A bus that records, and fails as often as `failures` says. */
function fakeBus(failures: unknown[] = []) {
  const sent: Sent[] = [];
  const attempts: string[] = [];
  const bus = {
    enqueue: async (subject: unknown, data: Uint8Array, id: string) => {
      attempts.push(id);
      const failure = failures.shift();
      if (failure !== undefined) throw failure;
      sent.push({ subject: String(subject), id, frame: fromBinary(TraceFrameSchema, data), bytes: data.byteLength });
    },
  };
  return { bus, sent, attempts };
}

const records = (sent: readonly Sent[]) => sent.flatMap(({ frame }) => frame.records.map(({ record }) => record));
const start = { tenant: "acme", name: "decide", kind: "model" } as const;

function tracerOn(bus: Pick<Bus, "enqueue">, limits: Partial<TracerLimits> = {}) {
  return createTracer({ service: "orchestrator", bus, limits });
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("createTracer", () => {
  it("sends a start before the end exists, and the rest in order", async () => {
    const { bus, sent } = fakeBus();
    const tracer = tracerOn(bus);
    const span = tracer.start({ ...start, taskId: "t1", attributes: { [attr.requestModel]: "m", [attr.round]: 1 } });
    await vi.advanceTimersByTimeAsync(60);
    expect(records(sent).map((record) => record.case)).toEqual(["started"]);
    span.event("thinking", { text: "Look at the order." });
    span.payload("input", () => "{}");
    span.set({ [attr.inputTokens]: 7 });
    span.end({ attributes: { [attr.outputTokens]: 2 } });
    span.end({ error: "a second end does not count" });
    span.event("note", { text: "neither does an event after the end" });
    await vi.advanceTimersByTimeAsync(120);
    const all = records(sent);
    expect(all.map((record) => record.case)).toEqual(["started", "event", "payload", "ended"]);
    expect(all[0]?.value).toMatchObject({ kind: "model", service: "orchestrator", taskId: "t1" });
    expect(all[3]?.value).toMatchObject({
      error: "",
      attributes: { [attr.inputTokens]: "7", [attr.outputTokens]: "2" },
    });
    const frames = sent.map(({ frame }) => frame);
    expect(frames.every(({ tenantId, traceId }) => tenantId === "acme" && traceId === span.context.traceId)).toBe(true);
    const [first] = frames[0]?.records ?? [];
    for (const record of frames.flatMap((frame) => frame.records)) expect(record.spanStartNs).toBe(first?.spanStartNs);
  });

  it("puts children into the trace of their parent", () => {
    const tracer = tracerOn(fakeBus().bus);
    const root = tracer.start(start);
    const child = tracer.start({ ...start, parent: root.context });
    expect(child.context.traceId).toBe(root.context.traceId);
    expect(child.context.spanId).not.toBe(root.context.spanId);
  });

  it("redacts and cuts text, and says how long it was", async () => {
    const { bus, sent } = fakeBus();
    const tracer = tracerOn(bus);
    const secret = "Authorization: Bearer abcdefghijklmnopqrstuvwxyz0123456789";
    const span = tracer.start({ ...start, name: `Why is ${secret} refused?` });
    span.event("tool_output", { text: secret + "x".repeat(5_000) });
    span.payload("output", `${secret}\n${"é".repeat(100_000)}`);
    span.end({ error: secret });
    await vi.advanceTimersByTimeAsync(120);
    expect(JSON.stringify(records(sent), (_, v) => (typeof v === "bigint" ? String(v) : v))).not.toContain(
      "abcdefghij",
    );
    const payload = records(sent).find((record) => record.case === "payload")?.value;
    expect(payload).toMatchObject({ totalCharacters: BigInt(secret.length + 1 + 100_000) });
    const event = records(sent).find((record) => record.case === "event")?.value;
    expect((event as { text: string }).text.length).toBeLessThanOrEqual(2_048);
  });

  it("tries a frame again under the same message id", async () => {
    const down = () => new DroverError("UNAVAILABLE", "down");
    const { bus, sent, attempts } = fakeBus([down(), down()]);
    const tracer = tracerOn(bus);
    tracer.start(start).end();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sent).toHaveLength(1);
    expect(attempts).toHaveLength(3);
    expect(new Set(attempts).size).toBe(1);
    expect(sent[0]?.id).toBe(`${sent[0]?.frame.producer}:${sent[0]?.frame.producerSequence}`);
  });

  it("gives up a frame that the bus calls invalid and goes on with the next", async () => {
    const { bus, sent } = fakeBus([new DroverError("INVALID_ARGUMENT", "no")]);
    const tracer = tracerOn(bus);
    tracer.start({ ...start, name: "lost" }).end();
    await vi.advanceTimersByTimeAsync(200);
    tracer.start({ ...start, name: "kept" }).end();
    await vi.advanceTimersByTimeAsync(200);
    expect(records(sent).flatMap((r) => (r.case === "started" ? [r.value.name] : []))).toEqual(["kept"]);
  });

  it("keeps frames within their size", async () => {
    const { bus, sent } = fakeBus();
    const tracer = tracerOn(bus);
    const span = tracer.start(start);
    for (let i = 0; i < 300; i++) span.event("tool_output", { text: "y ".repeat(1_000) });
    span.payload("output", "\u6f22".repeat(65_536));
    span.end();
    await vi.advanceTimersByTimeAsync(2_000);
    expect(records(sent)).toHaveLength(303);
    for (const { bytes } of sent) expect(bytes).toBeLessThanOrEqual(256 * 1024);
  });

  it("while the bus is down loses payloads and events, counted, but no start or end", async () => {
    const failures: unknown[] = Array.from({ length: 5 }, () => new DroverError("UNAVAILABLE", "down"));
    const { bus, sent } = fakeBus(failures);
    const tracer = tracerOn(bus, { memoryBytes: 20_000 });
    const root = tracer.start({ ...start, kind: "task" });
    await vi.advanceTimersByTimeAsync(60);
    for (let i = 0; i < 40; i++) {
      const span = tracer.start({ ...start, parent: root.context });
      span.payload("output", "z ".repeat(1_000));
      span.end();
    }
    root.end();
    await vi.advanceTimersByTimeAsync(20_000);
    const count = (kind: string) => records(sent).filter((record) => record.case === kind).length;
    expect(count("ended")).toBe(41);
    expect(count("payload")).toBeLessThan(40);
    expect(Number(sent.at(-1)?.frame.droppedRecords)).toBe(40 - count("payload"));
  });

  it("counts events beyond the limit of a span", async () => {
    const { bus, sent } = fakeBus();
    const span = tracerOn(bus, { eventsPerSpan: 2 }).start(start);
    for (let i = 0; i < 5; i++) span.event("note");
    span.end();
    await vi.advanceTimersByTimeAsync(120);
    expect(records(sent).map((record) => record.case)).toEqual(["started", "event", "event", "ended"]);
    expect(sent.at(-1)?.frame.droppedRecords).toBe(3n);
  });

  it("announces open spans again, not ended and not released ones", async () => {
    const { bus, sent } = fakeBus();
    const tracer = tracerOn(bus, { heartbeatMs: 1_000 });
    tracer.start({ ...start, name: "open" });
    tracer.start({ ...start, name: "ended" }).end();
    tracer.start({ ...start, name: "released" }).release();
    await vi.advanceTimersByTimeAsync(2_500);
    const names = records(sent).flatMap((r) => (r.case === "started" ? [r.value.name] : []));
    expect(names.sort()).toEqual(["ended", "open", "open", "open", "released"]);
  });

  it("sends what is queued when it is disposed, and does not wait for a dead bus for ever", async () => {
    const alive = fakeBus();
    const tracer = tracerOn(alive.bus);
    tracer.start(start).end();
    await tracer[Symbol.asyncDispose]();
    expect(records(alive.sent)).toHaveLength(2);

    const dead = { enqueue: () => new Promise<void>(() => undefined) };
    const stuck = tracerOn(dead, { flushMs: 50 });
    stuck.start(start).end();
    vi.useRealTimers();
    // Only the flush's own limit ends this; the bus never answers.
    await stuck[Symbol.asyncDispose]();
  });

  it("takes a span up again under its old identity", async () => {
    const { bus, sent } = fakeBus();
    const first = tracerOn(bus).start({ ...start, startedAt: new Date(1_000) });
    first.event("note");
    first.release();
    const again = tracerOn(bus).start({ ...start, identity: first.context, startedAt: first.startedAt });
    again.event("note");
    again.end();
    await vi.advanceTimersByTimeAsync(200);
    const all = sent.flatMap(({ frame }) => frame.records);
    expect(new Set(all.map(({ spanId, spanStartNs }) => `${spanId} ${spanStartNs}`)).size).toBe(1);
    const ordinals = all.flatMap(({ record }) => (record.case === "event" ? [record.value.ordinal] : []));
    expect(new Set(ordinals).size).toBe(2);
  });
});
