import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type RecordClass, RecordQueue } from "./record-queue.ts";

const key = { tenant: "acme", traceId: "a".repeat(32) };
const bytes = (size: number, mark = 0) => new Uint8Array(size).fill(mark);

describe("RecordQueue", () => {
  it("drops the oldest payload first, then events, and never a span", () => {
    const queue = new RecordQueue(100);
    queue.add(key, "span", bytes(30, 1));
    queue.add(key, "event", bytes(30, 2));
    queue.add(key, "payload", bytes(30, 3));
    queue.add(key, "span", bytes(30, 4));
    expect(queue.bytes).toBe(90);
    queue.add(key, "span", bytes(30, 5));
    queue.add(key, "span", bytes(30, 6));
    const taken = queue.take(key, 1_000);
    expect(taken?.records.map((record) => record[0])).toEqual([1, 4, 5, 6]);
    expect(taken?.dropped).toBe(2);
  });

  it("says that it is full from twice the limit on, and is not after the release", () => {
    const queue = new RecordQueue(10);
    for (let i = 0; i < 4; i++) queue.add(key, "span", bytes(5));
    expect(queue.full).toBe(true);
    const taken = queue.take(key, 1_000);
    expect(queue.full).toBe(true);
    queue.release(taken?.bytes ?? 0);
    expect(queue.full).toBe(false);
    expect(queue.waiting()).toEqual([]);
  });

  it("keeps the count of a trace whose records have all been sent", () => {
    const queue = new RecordQueue(100);
    queue.add(key, "payload", bytes(200));
    expect(queue.take(key, 1_000)).toBeUndefined();
    queue.add(key, "span", bytes(1));
    expect(queue.take(key, 1_000)?.dropped).toBe(1);
    queue.countDropped(key);
    queue.add(key, "span", bytes(1));
    expect(queue.take(key, 1_000)?.dropped).toBe(2);
  });

  it("a repeated announcement that is dropped is not a loss", () => {
    const queue = new RecordQueue(100);
    queue.add(key, "heartbeat", bytes(90));
    queue.add(key, "span", bytes(90));
    expect(queue.take(key, 1_000)).toEqual({ records: [bytes(90)], bytes: 90, dropped: 0 });
  });

  it("loses nothing uncounted, keeps order, and stays within its memory for all but spans", () => {
    const kinds = fc.constantFrom<RecordClass>("payload", "event", "span");
    const records = fc.array(fc.record({ kind: kinds, size: fc.integer({ min: 1, max: 60 }) }), { maxLength: 200 });
    fc.assert(
      fc.property(records, fc.integer({ min: 50, max: 400 }), (added, limit) => {
        const queue = new RecordQueue(limit);
        let spans = 0;
        for (const { kind, size } of added) {
          queue.add(key, kind, bytes(size));
          if (kind === "span") spans += size;
          expect(queue.bytes).toBeLessThanOrEqual(Math.max(limit, spans));
        }
        let sent = 0;
        let dropped = 0;
        for (let taken = queue.take(key, 100); taken !== undefined; taken = queue.take(key, 100)) {
          sent += taken.records.length;
          dropped = taken.dropped;
          if (taken.records.length > 1) expect(taken.bytes).toBeLessThanOrEqual(100);
          queue.release(taken.bytes);
        }
        if (sent > 0) expect(sent + dropped).toBe(added.length);
        expect(queue.bytes).toBe(0);
      }),
    );
  });
});
