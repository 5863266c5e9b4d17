import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { resolveRange, wholeCharacters } from "./range.ts";

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

describe("wholeCharacters", () => {
  it("reads any text from one range to the next, whole and well-formed, with any length", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 60 }), fc.integer({ min: 1, max: 9 }), (source, length) => {
        let read = "";
        while (read.length < source.length) {
          const range = resolveRange(read.length, length, source.length);
          const view = wholeCharacters(source.slice(range.start, range.end + 1), range);
          expect(view.start).toBe(read.length);
          expect(view.text).not.toBe("");
          expect(view.text.isWellFormed()).toBe(true);
          read += view.text;
        }
        expect(read).toBe(source);
      }),
    );
  });

  it("leaves out the half that a range begins with", () => {
    expect(wholeCharacters("😀b".slice(1), { start: 1, end: 3 })).toEqual({ text: "b", start: 2 });
  });
});
