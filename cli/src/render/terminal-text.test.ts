import fc from "fast-check";
import { expect, test } from "vitest";
import { columnsOf, fit, oneLine, safeLines, wrap } from "./terminal-text.ts";

test("East Asian text and emoji take two columns, marks none", () => {
  expect(columnsOf("abc")).toBe(3);
  expect(columnsOf("订单待付款")).toBe(10);
  expect(columnsOf("🚚")).toBe(2);
  expect(columnsOf("e\u0301")).toBe(1);
});

test("a cut text says so and never breaks a character", () => {
  expect(fit("订单待付款", 5)).toBe("订单…");
  expect(fit("short", 5)).toBe("short");
  expect(wrap("one two three four", 9, 2)).toEqual(["one two", "three fo…"]);
});

test("nothing that a terminal acts on gets through, and lines keep to their width", () => {
  const anything = fc.string({ unit: "binary" });
  fc.assert(
    fc.property(anything, fc.integer({ min: 2, max: 60 }), (text, width) => {
      for (const line of [oneLine(text), ...safeLines(text)]) {
        expect(line).not.toMatch(/\p{Cc}|\p{Bidi_Control}/u);
        expect(line.isWellFormed()).toBe(true);
      }
      for (const line of wrap(oneLine(text), width, 3)) expect(columnsOf(line)).toBeLessThanOrEqual(width);
    }),
  );
});
