import { DroverError } from "@drover/kernel";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { matches, patterns, subjects, tokensOf } from "./subjects.ts";

const good = fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/);
const hostile = fc.constantFrom(".", "*", ">", " ", "\r", "\n", "\u0000", "\t", "é", "/", ":");
const bad = fc.oneof(
  fc.constant(""),
  fc.tuple(good, hostile, good).map((parts) => parts.join("")),
  hostile,
  fc.stringMatching(/^[A-Za-z0-9_-]{65,90}$/),
);
const makers = { ...subjects, ...patterns } as Record<string, (...tokens: string[]) => string>;

describe("a token", () => {
  test.each(Object.entries(makers))("that could leave its place is refused by %s", (_, make) => {
    for (let place = 0; place < make.length; place++) {
      fc.assert(
        fc.property(bad, good, (wrong, right) => {
          const tokens = Array.from({ length: make.length }, (_, index) => (index === place ? wrong : right));
          expect(() => make(...tokens)).toThrow(DroverError);
        }),
      );
    }
  });

  test.each(Object.entries(subjects))("comes back from the subject of %s as it went in", (_, make) => {
    fc.assert(
      fc.property(good, good, (first, second) => {
        const given = [first, second].slice(0, make.length);
        const made = (make as (...tokens: string[]) => ReturnType<typeof make>)(...given);
        expect(tokensOf(made).slice(-make.length)).toEqual(given);
        expect(made).toMatch(/^drover\.[a-z]+(\.[A-Za-z0-9_-]{1,64})+$/);
      }),
    );
  });
});

test("a trace stays in its shard, and all shards are used", () => {
  const shards = Array.from({ length: 500 }, (_, index) => tokensOf(subjects.trace("t", `trace-${index}`))[0]);
  expect(new Set(shards).size).toBe(16);
  expect(subjects.trace("t", "trace-7")).toBe(subjects.trace("t", "trace-7"));
});

test("a pattern hears its own subjects only", () => {
  expect(matches(patterns.allCancels(), subjects.cancel("t1", "a"))).toBe(true);
  expect(matches(patterns.allCancels(), subjects.event("t1", "a"))).toBe(false);
  expect(matches(patterns.event("t1", "a"), subjects.event("t1", "a"))).toBe(true);
  expect(matches(patterns.event("t1", "a"), subjects.event("t2", "a"))).toBe(false);
  expect(matches(patterns.allConfigs(), subjects.cancel("t1", "a"))).toBe(false);
});
