import { expect, test } from "vitest";
import { createInProcessBus } from "./in-process.ts";
import { subjects } from "./subjects.ts";
import { stopWithTasks } from "./task-work.ts";

const never = new AbortController().signal;
const untilAborted = (signal: AbortSignal) =>
  new Promise<string>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

test("a cancel stops all work of its task and no other work", async () => {
  await using bus = createInProcessBus();
  await using tasks = stopWithTasks(bus);
  const mine = { tenant: "acme", taskId: "t1" };
  const stopped = [tasks.during(mine, never, untilAborted), tasks.during(mine, never, untilAborted)];
  const finish = Promise.withResolvers<string>();
  const others = [
    { tenant: "acme", taskId: "t2" },
    { tenant: "other", taskId: "t1" },
    { tenant: "acme", taskId: undefined },
  ].map((task) => tasks.during(task, never, (signal) => Promise.race([finish.promise, untilAborted(signal)])));
  bus.publish(subjects.cancel("acme", "t1"), new Uint8Array());
  for (const work of stopped) {
    await expect(work).rejects.toMatchObject({ code: "CANCELLED", reason: "TASK_CANCELLED" });
  }
  finish.resolve("done");
  expect(await Promise.all(others)).toEqual(["done", "done", "done"]);
  expect(await tasks.during(mine, never, async (signal) => signal.aborted)).toBe(false);
});

test("the caller's own abort reaches the work with its reason", async () => {
  await using bus = createInProcessBus();
  await using tasks = stopWithTasks(bus);
  const caller = new AbortController();
  const work = tasks.during({ tenant: "acme", taskId: "t1" }, caller.signal, untilAborted);
  caller.abort(new Error("gone"));
  await expect(work).rejects.toThrow("gone");
});
