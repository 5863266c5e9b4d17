import { describe, expect, it } from "vitest";
import { gather } from "./gather.ts";

/** Gives what it has, then hangs until it is told more or ended. */
function source() {
  const waiting: number[] = [];
  let wake = Promise.withResolvers<void>();
  let ended = false;
  async function* items() {
    for (;;) {
      while (waiting.length > 0) yield waiting.shift() as number;
      if (ended) return;
      await wake.promise;
      wake = Promise.withResolvers<void>();
    }
  }
  return {
    items: items(),
    push(...numbers: number[]) {
      waiting.push(...numbers);
      wake.resolve();
    },
    end() {
      ended = true;
      wake.resolve();
    },
  };
}

describe("gather", () => {
  it("hands over what is there and waits for no more", async () => {
    const { items, push, end } = source();
    push(1, 2, 3);
    const batches = gather(items, 64);
    expect((await batches.next()).value).toEqual([1, 2, 3]);
    const next = batches.next();
    push(4);
    expect((await next).value).toEqual([4]);
    end();
    expect((await batches.next()).done).toBe(true);
  });

  it("keeps batches within their size and loses nothing", async () => {
    const { items, push, end } = source();
    push(...Array.from({ length: 10 }, (_, i) => i));
    end();
    const batches: number[][] = [];
    for await (const batch of gather(items, 4)) batches.push(batch);
    expect(batches).toEqual([
      [0, 1, 2, 3],
      [4, 5, 6, 7],
      [8, 9],
    ]);
  });

  it("passes on what the source throws", async () => {
    async function* broken() {
      yield 1;
      throw new Error("lost");
    }
    const batches = gather(broken(), 4);
    await expect(
      (async () => {
        for await (const _ of batches);
      })(),
    ).rejects.toThrow("lost");
  });
});
