import { expect, test } from "vitest";
import { linearPattern } from "./linear-pattern.ts";

test("finds within a line, with and without regard to case", () => {
  expect(linearPattern("b+c", false)("abbcd")).toBe(true);
  expect(linearPattern("B+C", false)("abbcd")).toBe(false);
  expect(linearPattern("B+C", true)("abbcd")).toBe(true);
});

test("refuses what cannot be linear", () => {
  expect(() => linearPattern("(a)\\1", false)).toThrow();
  expect(() => linearPattern("(?=a)", false)).toThrow();
});

test(
  "a pattern that would blow up elsewhere is matched in linear time",
  () => expect(linearPattern("(a|aa)+$", false)(`${"a".repeat(5000)}b`)).toBe(false),
  // Backtracking is exponential here and would never end.
  60_000,
);
