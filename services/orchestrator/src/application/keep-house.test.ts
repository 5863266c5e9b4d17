import { DroverError } from "@drover/kernel";
import { fakeClock } from "@drover/testkit";
import { noopTracer } from "@drover/tracing";
import { expect, test } from "vitest";
import { FakeRecord } from "../../test/fake-record.ts";
import type { Task } from "../domain/task.ts";
import { keepHouse } from "./keep-house.ts";
import type { TaskSignals } from "./ports.ts";

const dead: Task = { ...new FakeRecord().task, id: "dead", state: "FAILED", failureReason: "DEAD_LETTER" };

/** A house whose jobs do what the lists say, one entry a call; an entry that is an error is thrown. Clean-ups wait for `gate`. */
function house(
  buried: (readonly Task[] | DroverError)[],
  removed: (number | DroverError)[] = [],
  known: readonly Task[] = [dead],
  gate = Promise.resolve(),
) {
  const clock = fakeClock();
  const calls: string[] = [];
  const faults: unknown[] = [];
  const next = <T>(entries: (T | DroverError)[], otherwise: T): T => {
    const entry = entries.shift() ?? otherwise;
    if (entry instanceof DroverError) throw entry;
    return entry;
  };
  const records = {
    bury: async (maxIdle: number) => {
      calls.push(`bury ${maxIdle}`);
      return next(buried, []).map(({ tenant, id, lastSequence }) => ({ tenant, taskId: id, lastSequence }));
    },
    expire: async (days: number) => {
      calls.push(`expire ${days}`);
      await gate;
      return next(removed, 0);
    },
  };
  const signals: Pick<TaskSignals, "committed" | "ready"> = {
    committed: (_tenant, taskId) => void calls.push(`committed ${taskId}`),
    ready: (taskId) => void calls.push(`ready ${taskId}`),
  };
  const keeping = keepHouse({
    ...{ store: { get: async (_tenant, id) => known.find((task) => task.id === id) }, records, signals, clock },
    ...{ tracer: noopTracer, onFault: (_fault, what) => faults.push(what) },
    ...{ maxIdle: 5, buryMs: 1_000, retentionDays: 30, cleanupMs: 10_000 },
  });
  return { clock, calls, faults, keeping };
}

test("both jobs are done at once and then each in its own time, until it is disposed of", async () => {
  const { clock, calls, keeping } = house([]);
  await clock.advance(0);
  expect(calls.splice(0)).toEqual(["bury 5", "expire 30"]);
  await clock.advance(9_999);
  expect(calls.splice(0)).toEqual(Array.from({ length: 9 }, () => "bury 5"));
  await clock.advance(1);
  expect(calls.splice(0).sort()).toEqual(["bury 5", "expire 30"]);
  await keeping[Symbol.asyncDispose]();
  await clock.advance(60_000);
  expect(calls).toEqual([]);
  expect(clock.sleepers).toBe(0);
});

test("a dead letter is told to its watchers, and the next task of its conversation may begin", async () => {
  const { clock, calls, keeping } = house([[dead, { ...dead, id: "deleted" }]]);
  await clock.advance(0);
  expect(calls.filter((call) => !/^(bury|expire)/.test(call))).toEqual(["committed dead", "ready dead"]);
  await keeping[Symbol.asyncDispose]();
});

test("the clean-up goes on until nothing is left", async () => {
  const { clock, calls, keeping } = house([], [1_000, 1_000, 3]);
  await clock.advance(0);
  expect(calls.filter((call) => call === "expire 30")).toHaveLength(4);
  await keeping[Symbol.asyncDispose]();
});

test("a clean-up that has much to do ends early when it is disposed of", async () => {
  const gate = Promise.withResolvers<void>();
  const { clock, calls, keeping } = house([], [1, 1, 1], [dead], gate.promise);
  await clock.advance(0);
  const disposed = keeping[Symbol.asyncDispose]();
  gate.resolve();
  await disposed;
  expect(calls.filter((call) => call === "expire 30")).toHaveLength(1);
});

test("a fault of one job is told, tried again in its time, and holds up the other one not at all", async () => {
  const away = new DroverError("UNAVAILABLE", "The database is not available.");
  const { clock, calls, faults, keeping } = house([away, [dead]], [away, 1]);
  await clock.advance(0);
  expect(faults).toEqual(["ending dead letters failed", "the clean-up failed"]);
  await clock.advance(1_000);
  expect(calls).toContain("committed dead");
  await clock.advance(9_000);
  expect(calls.filter((call) => call === "expire 30")).toHaveLength(3);
  expect(faults).toHaveLength(2);
  await keeping[Symbol.asyncDispose]();
});
