import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { mapBounded } from "./bounded.ts";

test("results keep the order of the items and no more than the limit runs at once", async () => {
  let running = 0;
  let most = 0;
  const results = await mapBounded([5, 1, 4, 2, 3], 2, async (ms, index) => {
    most = Math.max(most, ++running);
    await sleep(ms);
    running--;
    return `${index}:${ms}`;
  });
  expect(results).toEqual(["0:5", "1:1", "2:4", "3:2", "4:3"]);
  expect(most).toBe(2);
});

test("a rejection waits for what has started and starts nothing more", async () => {
  const started: number[] = [];
  let settled = 0;
  const work = mapBounded([0, 1, 2, 3], 2, async (item) => {
    started.push(item);
    await sleep(item === 0 ? 1 : 5);
    settled++;
    if (item === 0) throw new Error("first");
  });
  await expect(work).rejects.toThrow("first");
  expect(started).toEqual([0, 1]);
  expect(settled).toBe(2);
});
