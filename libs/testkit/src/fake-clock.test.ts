import { expect, test } from "vitest";
import { fakeClock } from "./fake-clock.ts";

test("sleepers wake in the order they are due, at their own time, and may sleep again", async () => {
  const clock = fakeClock();
  const log: string[] = [];
  const run = async (name: string, ...waits: number[]) => {
    for (const ms of waits) {
      await clock.sleep(ms);
      log.push(`${name}@${clock.monotonicMs()}`);
    }
  };
  const all = Promise.all([run("late", 30), run("twice", 10, 15), run("beyond", 100)]);
  await clock.advance(50);
  expect(log).toEqual(["twice@10", "twice@25", "late@30"]);
  expect(clock.sleepers).toBe(1);
  expect(clock.now().toISOString()).toBe("2030-01-01T00:00:00.050Z");
  await clock.advance(50);
  await all;
  expect(log.at(-1)).toBe("beyond@100");
});

test("an abort rejects with its reason and leaves no sleeper", async () => {
  const clock = fakeClock();
  const stop = new AbortController();
  const sleeping = clock.sleep(10, stop.signal);
  stop.abort(new Error("enough"));
  await expect(sleeping).rejects.toThrow("enough");
  expect(clock.sleepers).toBe(0);
});
