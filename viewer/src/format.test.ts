import { expect, it } from "vitest";
import { ago, bytes, cost, count, duration, offset, shortCount, word } from "./format.ts";

it.each([
  [0.25, "0.25 ms"],
  [3.04, "3 ms"],
  [188, "188 ms"],
  [1_830, "1.83 s"],
  [18_400, "18.4 s"],
  [41_000, "41 s"],
  [59_960, "1 min 0 s"],
  [125_000, "2 min 5 s"],
  [11_520_000, "3 h 12 min"],
])("says %d ms as %s", (ms, text) => {
  expect(duration(ms)).toBe(text);
});

it.each([
  [0n, "$0"],
  [10n, "<$0.0001"],
  [7_100_000n, "$0.0071"],
  [1_240_000_000n, "$1.24"],
])("says %d nano-USD as %s", (nanoUsd, text) => {
  expect(cost(nanoUsd)).toBe(text);
});

it("shortens counts and sizes", () => {
  expect([420, 4_900, 99_949, 132_000, 1_500_000].map(shortCount)).toEqual(["420", "4.9k", "99.9k", "132k", "1.5M"]);
  expect([512, 1_500, 96_000_000].map(bytes)).toEqual(["512 B", "1.5 kB", "96 MB"]);
  expect(count(12_480)).toBe("12,480");
});

it("tells times against the start and against now", () => {
  expect(offset(6_102)).toBe("+ 6.102");
  expect(offset(-5)).toBe("− 0.005");
  expect([10_000, 300_000, 7_200_000].map((ms) => ago(0, ms))).toEqual(["just now", "5 min ago", "2 h ago"]);
  expect(ago(0, 1e12)).toBe("1970-01-01");
  expect(word("WAITING_APPROVAL")).toBe("waiting approval");
});
