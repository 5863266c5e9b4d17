import { expect, test, vi } from "vitest";
import { collect } from "./collect.ts";

async function* source(sizes: number[], closed = vi.fn()) {
  try {
    for (const size of sizes) yield new Uint8Array(size).fill(size);
  } finally {
    closed();
  }
}

test("pieces come out joined, a body of exactly the limit too", async () => {
  expect([...(await collect(source([1, 0, 2]), 3))]).toEqual([1, 2, 2]);
  expect(await collect(source([]), 0)).toHaveLength(0);
});

test("a body over the limit is refused at once and its source closed", async () => {
  const closed = vi.fn();
  await expect(collect(source([2, 2, 2], closed), 3)).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  expect(closed).toHaveBeenCalledOnce();
});

test("an abort ends the reading", async () => {
  await expect(collect(source([1]), 3, AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
});
