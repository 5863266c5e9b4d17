import { expect, test } from "vitest";
import { AsyncQueue } from "./async-queue.ts";

test("the consumer gets what was pushed before and after it began, then the end", async () => {
  const queue = new AsyncQueue<number>(10);
  queue.push(1);
  const seen: number[] = [];
  const consumer = (async () => {
    for await (const item of queue) seen.push(item);
  })();
  await Promise.resolve();
  queue.push(2);
  queue.push(3);
  queue.end();
  await consumer;
  expect(seen).toEqual([1, 2, 3]);
  expect(queue.push(4)).toBe(false);
});

test("a full queue refuses and keeps what it has; an error comes after the queued items", async () => {
  const queue = new AsyncQueue<number>(2);
  expect([queue.push(1), queue.push(2), queue.push(3)]).toEqual([true, true, false]);
  queue.end(new Error("cut"));
  const seen: number[] = [];
  const consume = async () => {
    for await (const item of queue) seen.push(item);
  };
  await expect(consume()).rejects.toThrow("cut");
  expect(seen).toEqual([1, 2]);
});
