import { expect, test } from "vitest";
import { globMatcher } from "./glob.ts";

test.each([
  ["", "a/b", true],
  ["*.ts", "a.ts", true],
  ["*.ts", "src/deep/a.ts", true],
  ["*.ts", "a.tsx", false],
  ["src/*.ts", "src/a.ts", true],
  ["src/*.ts", "src/deep/a.ts", false],
  ["src/**/*.ts", "src/a.ts", true],
  ["src/**/*.ts", "src/deep/er/a.ts", true],
  ["**/a?c", "x/abc", true],
  ["**", "any/thing", true],
  ["a.c", "abc", false],
  ["[ab]", "a", false],
])("%j on %j is %s", (pattern, path, expected) => {
  expect(globMatcher("glob", pattern)(path)).toBe(expected);
});

test(
  "a hostile pattern on a long path costs no more than pattern × path",
  () => expect(globMatcher("glob", "**/*a/".repeat(40))(`${"a/".repeat(500)}b`)).toBe(false),
  // Backtracking is exponential here and would never end.
  60_000,
);
