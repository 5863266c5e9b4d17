import { describe, expect, it } from "vitest";
import { resolveRange, tornEnds } from "./range.ts";

describe("resolveRange", () => {
  it.each([
    [0, 10, 100, 0, 10],
    [95, 10, 100, 95, 100],
    [-10, 4, 100, 90, 94],
    [-500, 4, 100, 0, 4],
    [200, 4, 100, 100, 100],
    [0, 5, 0, 0, 0],
  ])("offset %i and length %i of %i", (offset, length, total, start, end) => {
    expect(resolveRange(offset, length, total)).toEqual({ start, end });
  });
});

describe("tornEnds", () => {
  it("finds halves of surrogate pairs at either end", () => {
    const pair = "😀";
    expect(tornEnds(`a${pair}b`)).toEqual({ before: 0, after: 0 });
    expect(tornEnds(`${pair.slice(1)}b`)).toEqual({ before: 1, after: 0 });
    expect(tornEnds(`b${pair.slice(0, 1)}`)).toEqual({ before: 0, after: 1 });
    expect(tornEnds("")).toEqual({ before: 0, after: 0 });
  });
});
