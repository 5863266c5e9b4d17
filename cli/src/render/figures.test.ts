import { expect, test } from "vitest";
import { bytesOf, dollarsOf, durationOf, plural } from "./figures.ts";

test.each([
  [0, "0 ms"],
  [402.4, "402 ms"],
  [999.6, "1.0 s"],
  [2_300, "2.3 s"],
  [59_949, "59.9 s"],
  [59_960, "1 min 00 s"],
  [247_000, "4 min 07 s"],
  [3_599_600, "1 h 00 min"],
  [7_500_000, "2 h 05 min"],
])("%d ms is %s", (ms, text) => {
  expect(durationOf(ms)).toBe(text);
});

test.each([
  [0n, "$0"],
  [99_999n, "<$0.0001"],
  [7_100_000n, "$0.0071"],
  [1_234_567_890n, "$1.23"],
])("%d nano-USD are %s", (nano, text) => {
  expect(dollarsOf(nano)).toBe(text);
});

test("sizes and counts", () => {
  expect([0, 999, 1500, 96_000_000].map(bytesOf)).toEqual(["0 B", "999 B", "1.5 kB", "96 MB"]);
  expect([plural(0, "round"), plural(1, "round"), plural(12_000, "span")]).toEqual([
    "0 rounds",
    "1 round",
    "12,000 spans",
  ]);
});
