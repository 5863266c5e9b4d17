import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { minimapLines } from "./minimap-lines.ts";
import { buildTree } from "./span-tree.ts";
import { span } from "./test-span.ts";
import { percentOf, placeOf, scaleOf, unionMs } from "./time-scale.ts";

describe("scaleOf", () => {
  it("reaches from the first start to the last end, and to now while something runs", () => {
    const spans = [span({ id: "a", startMs: 100, endMs: 300 }), span({ id: "b", startMs: 150, endMs: 200 })];
    expect(scaleOf(spans, 9_999)).toEqual({ fromMs: 100, toMs: 300 });
    expect(scaleOf([...spans, span({ id: "c", startMs: 200, endMs: undefined })], 500)).toEqual({
      fromMs: 100,
      toMs: 500,
    });
  });

  it("is never empty", () => {
    expect(scaleOf([], 5)).toEqual({ fromMs: 5, toMs: 6 });
    const { fromMs, toMs } = scaleOf([span({ id: "a", startMs: 5, endMs: 5 })], 0);
    expect(toMs).toBeGreaterThan(fromMs);
  });
});

describe("placeOf", () => {
  it("keeps every bar visible and within its lane, whatever the clocks say", () => {
    const time = fc.integer({ min: -1_000, max: 2_000 });
    fc.assert(
      fc.property(time, time, (start, end) => {
        const place = placeOf({ fromMs: 0, toMs: 1_000 }, start, end);
        const isOutside = start > 1_000 || Math.max(start, end) < 0;
        expect(place === undefined).toBe(isOutside);
        const { left, width } = place ?? { left: 0, width: 1 };
        expect(width).toBeGreaterThan(0);
        expect(left).toBeGreaterThanOrEqual(0);
        expect(left + width).toBeLessThanOrEqual(100.000_001);
      }),
    );
  });

  it("places in percent", () => {
    expect(placeOf({ fromMs: 0, toMs: 200 }, 50, 100)).toEqual({ left: 25, width: 25 });
    expect(percentOf({ fromMs: 100, toMs: 300 }, 200)).toBe(50);
  });
});

describe("unionMs", () => {
  it("counts time that several cover once", () => {
    expect(
      unionMs([
        [0, 10],
        [5, 15],
        [20, 30],
        [22, 25],
      ]),
    ).toBe(25);
    expect(unionMs([])).toBe(0);
    expect(unionMs([[10, 5]])).toBe(0);
  });
});

describe("minimapLines", () => {
  it("draws 50,000 spans with a bounded number of lines", () => {
    const spans = Array.from({ length: 50_000 }, (_, i) => span({ id: String(i), startMs: i, endMs: i + 3 }));
    const lines = minimapLines(buildTree(spans), { fromMs: 0, toMs: 50_003 }, { width: 1_000, height: 34 });
    expect(lines.length).toBeLessThan(5_000);
    expect(Math.max(...lines.map(({ y }) => y))).toBeLessThanOrEqual(32);
  });
});
