import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { applyChanges, type Frame, groupFrames } from "./batch.ts";
import type { SpanFacts } from "./fold-trace.ts";
import { attributesOf, isOpen, type Span, type SpanEvent, type SpanPayload, type SpanRecord, stateOf } from "./span.ts";
import { emptyTrace, isRunning, type Trace, traceEnd } from "./trace.ts";

const key = { tenant: "acme", traceId: "a".repeat(32) };

function facts(span: Span): SpanFacts {
  const tokens = Number(attributesOf(span).tokens ?? 0);
  const usage = {
    inputTokens: tokens,
    outputTokens: 0,
    cachedInputTokens: 0,
    reasoningTokens: 0,
    costNanoUsd: 0,
    priced: 0,
  };
  return { usage: span.started?.kind === "model" ? usage : undefined, taskState: attributesOf(span).state ?? "" };
}

/** The store in memory: what the tables would hold after these batches. */
function storeAll(batches: readonly (readonly Frame[])[]) {
  let trace: Trace | undefined;
  const spans = new Map<string, Span>();
  const events = new Map<string, SpanEvent>();
  const payloads = new Map<string, SpanPayload>();
  for (const changes of batches.flatMap(groupFrames)) {
    const touched = new Set<string>();
    for (const span of changes.spans.values()) {
      for (const event of span.events) {
        const id = `${span.spanId}/${event.ordinal}`;
        if (events.has(id)) continue;
        events.set(id, event);
        touched.add(span.spanId);
      }
      for (const payload of span.payloads) payloads.set(`${span.spanId}/${payload.slot}`, payload);
    }
    const update = applyChanges(trace, spans, changes, touched, facts);
    trace = update.trace;
    for (const span of update.changed) spans.set(span.spanId, span);
  }
  return { trace: trace ?? emptyTrace, spans, events, payloads };
}

const startNs = 1_000n;
const started = (spanId: string, kind = "tool", parentSpanId = ""): SpanRecord => ({
  spanId,
  startNs,
  kind: "started",
  started: {
    parentSpanId,
    name: `n${spanId}`,
    kind,
    service: "s",
    taskId: "t",
    attributes: { a: "1" },
    sequence: Number(spanId),
  },
});
const ended = (spanId: string, endNs: bigint, attributes = {}, error = ""): SpanRecord => ({
  spanId,
  startNs,
  kind: "ended",
  ended: { endNs, error, attributes },
});
const forced = (spanId: string, endNs: bigint): SpanRecord => ({
  spanId,
  startNs,
  kind: "forced",
  forced: { endNs, reason: "Its producer was lost." },
});
const event = (spanId: string, ordinal: number): SpanRecord => ({
  spanId,
  startNs,
  kind: "event",
  event: { ordinal, timeNs: startNs, kind: "note", text: "", attributes: {} },
});
const frame = (records: readonly SpanRecord[], dropped = 0, producer = "p"): Frame => ({
  ...key,
  producer,
  dropped,
  records,
});

const id = fc.constantFrom("1", "2", "3", "4");
const record = fc.oneof(
  fc.tuple(id, fc.constantFrom("model", "tool", "task"), fc.constantFrom("", "1", "9")).map((p) => started(...p)),
  fc
    .tuple(
      id,
      fc.integer({ min: 1, max: 9 }).map(BigInt),
      fc.constantFrom({}, { tokens: "7" }, { state: "FAILED" }),
      fc.constantFrom("", "broke"),
    )
    .map((p) => ended(...p)),
  fc.tuple(id, fc.integer({ min: 1, max: 9 }).map(BigInt)).map((p) => forced(...p)),
  fc.tuple(id, fc.integer({ min: 0, max: 3 })).map((p) => event(...p)),
  fc.tuple(id, fc.constantFrom("input", "output"), fc.string()).map(
    ([spanId, slot, text]): SpanRecord => ({
      spanId,
      startNs,
      kind: "payload",
      payload: { slot, text, totalCharacters: text.length },
    }),
  ),
);
const log = fc.array(
  fc
    .record({
      records: fc.array(record, { maxLength: 6 }),
      dropped: fc.integer({ min: 0, max: 5 }),
      producer: fc.constantFrom("p", "q"),
    })
    .map((f) => frame(f.records, f.dropped, f.producer)),
  { maxLength: 12 },
);

describe("applyChanges", () => {
  it("comes to the same rows whatever order frames arrive in, how often, and in what batches", () => {
    const delivery = log.chain((frames) =>
      fc.record({
        frames: fc.constant(frames),
        shuffled: fc.shuffledSubarray([...frames, ...frames], {
          minLength: frames.length * 2,
          maxLength: frames.length * 2,
        }),
        size: fc.integer({ min: 1, max: 5 }),
      }),
    );
    fc.assert(
      fc.property(delivery, ({ frames, shuffled, size }) => {
        const batches = Array.from({ length: Math.ceil(shuffled.length / size) }, (_, i) =>
          shuffled.slice(i * size, (i + 1) * size),
        );
        const expected = storeAll([frames]);
        const actual = storeAll(batches);
        expect({ ...actual.trace, revision: 0 }).toEqual({ ...expected.trace, revision: 0 });
        expect(actual.spans).toEqual(expected.spans);
        expect([...actual.events.keys()].sort()).toEqual([...expected.events.keys()].sort());
      }),
    );
  });

  it("keeps the sums equal to a count over all spans", () => {
    fc.assert(
      fc.property(log, (frames) => {
        const { trace, spans } = storeAll(frames.map((one) => [one]));
        const all = [...spans.values()];
        expect(trace.spanCount).toBe(all.length);
        expect(trace.openCount).toBe(all.filter(isOpen).length);
        const tokens = all.reduce((sum, span) => sum + (facts(span).usage?.inputTokens ?? 0), 0);
        expect(trace.usage.inputTokens).toBe(tokens);
      }),
    );
  });

  it("does not raise the revision for what it knew already", () => {
    const frames = [frame([started("1"), event("1", 0), ended("1", 5n)], 2)];
    expect(storeAll([frames]).trace.revision).toBe(1);
    expect(storeAll([frames, frames, frames]).trace.revision).toBe(1);
    expect(storeAll([frames, [frame([event("1", 1)])]]).trace.revision).toBe(2);
  });

  it("puts a real end over a forced one, and never opens a span again", () => {
    const before = storeAll([[frame([started("1")])], [frame([forced("1", 9n)])]]);
    expect(traceEnd(before.trace)).toBe(9n);
    expect(before.trace.errorCount).toBe(1);
    const again = storeAll([[frame([forced("1", 9n)])], [frame([started("1")])]]);
    expect(isRunning(again.trace)).toBe(false);
    const after = storeAll([[frame([started("1"), forced("1", 9n)])], [frame([ended("1", 4n)])]]);
    expect(traceEnd(after.trace)).toBe(4n);
    expect(after.trace.errorCount).toBe(0);
  });

  it("takes its name from the root, even when the root comes last", () => {
    const { trace } = storeAll([[frame([started("1", "tool", "2")])], [frame([started("2", "task")])]]);
    expect(trace.head).toMatchObject({ spanId: "2", kind: "task", orphan: false });
    expect(trace.head?.taskId).toBe("t");
  });

  it("an event whose span has not started makes a placeholder that still runs", () => {
    const { trace, spans } = storeAll([[frame([event("1", 0)])]]);
    expect(stateOf(spans.get("1") as Span)).toBe(1);
    expect(isRunning(trace)).toBe(true);
  });
});
