import { beforeEach, expect, test } from "vitest";
import { type Bus, createInProcessBus, subjects } from "../src/index.ts";
import { busContract } from "./bus.contract.ts";

let shared: Bus;
beforeEach(() => {
  shared = createInProcessBus();
});
busContract(async () => shared);

test("a full queue refuses more until something was handled", async () => {
  await using bus = createInProcessBus({ maxMessages: 2, maxBytes: 10 });
  const add = (id: string, size: number) => bus.enqueue(subjects.trace("t", "a"), new Uint8Array(size), id);
  await add("1", 4);
  await expect(add("2", 7)).rejects.toMatchObject({ code: "RESOURCE_EXHAUSTED", retryable: true });
  await add("3", 4);
  await expect(add("4", 0)).rejects.toMatchObject({ reason: "QUEUE_FULL" });
  const handled = Promise.withResolvers<number>();
  await using _consumer = bus.consume({ handler: async (batch) => handled.resolve(batch.length) });
  expect(await handled.promise).toBe(2);
  await expect.poll(() => add("5", 4).then(() => "taken", String)).toBe("taken");
});
