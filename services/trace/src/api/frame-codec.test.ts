import { create, type MessageInitShape, toBinary } from "@bufbuild/protobuf";
import { TraceFrameSchema } from "@drover/proto/event/v1/trace_frame";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeFrame } from "./frame-codec.ts";

const frame = (init: MessageInitShape<typeof TraceFrameSchema>) =>
  decodeFrame(
    toBinary(TraceFrameSchema, create(TraceFrameSchema, { tenantId: "acme", traceId: "a".repeat(32), ...init })),
  );
const owner = { spanId: "b".repeat(16), spanStartNs: 5n };

describe("decodeFrame", () => {
  it("makes every text storable and cuts it", () => {
    const started = {
      name: `n\u0000${"x".repeat(500)}`,
      kind: "tool",
      attributes: { "a\u0000": "\u0000".repeat(9_000) },
    };
    const decoded = frame({ records: [{ ...owner, record: { case: "started", value: started } }] });
    const [record] = decoded?.records ?? [];
    expect(record).toMatchObject({ kind: "started", started: { kind: "tool" } });
    const text = JSON.stringify(record, (_, value) => (typeof value === "bigint" ? String(value) : value));
    expect(text).not.toContain("\\u0000");
    expect(text.length).toBeLessThan(3_000);
  });

  it("leaves out what cannot be keyed, counts it, and keeps its neighbours", () => {
    const ended = (endNs: bigint) => ({ case: "ended" as const, value: { endNs } });
    const decoded = frame({
      droppedRecords: 3n,
      records: [
        { ...owner, record: ended(9n) },
        { ...owner, spanId: "short", record: ended(9n) },
        { ...owner, spanStartNs: 0n, record: ended(9n) },
        { ...owner, record: ended(2n ** 63n - 1n) },
        { ...owner },
      ],
    });
    expect(decoded?.records).toHaveLength(1);
    expect(decoded?.dropped).toBe(7);
  });

  it("refuses a frame without a tenant or a trace", () => {
    expect(frame({ tenantId: "a.b" })).toBeUndefined();
    expect(frame({ traceId: "0".repeat(32) })).toBeUndefined();
    expect(frame({})).toMatchObject({ tenant: "acme", records: [] });
  });

  it("never throws, whatever the bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void decodeFrame(bytes)));
  });
});
