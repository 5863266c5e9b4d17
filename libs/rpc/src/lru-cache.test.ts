import { expect, test } from "vitest";
import { LruCache } from "./lru-cache.ts";

test("the entry that was not used for longest goes first, and the size is bounded", () => {
  const cache = new LruCache<number, string>(3);
  for (const n of [1, 2, 3]) cache.set(n, `v${n}`);
  expect(cache.get(1)).toBe("v1");
  cache.set(4, "v4");
  expect(cache.get(2)).toBeUndefined();
  expect([1, 3, 4].map((n) => cache.get(n))).toEqual(["v1", "v3", "v4"]);
  for (let n = 0; n < 1000; n++) cache.set(n, "x");
  expect(cache.size).toBe(3);
});
