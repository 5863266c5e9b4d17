import { expect, test } from "vitest";
import { randomBytes } from "./random-bytes.ts";

test("no draw is like another, across many fillings of the stock, and each is its caller's own", () => {
  const seen = new Set<string>();
  for (let draw = 0; draw < 2_000; draw++) {
    const count = draw % 2 === 0 ? 16 : 13;
    const bytes = randomBytes(count);
    expect(bytes).toHaveLength(count);
    seen.add(bytes.join());
    bytes.fill(0);
  }
  expect(seen.size).toBe(2_000);
});

test("every byte value comes up", () => {
  const values = new Set(Array.from({ length: 100 }, () => [...randomBytes(256)]).flat());
  expect(values.size).toBe(256);
});
