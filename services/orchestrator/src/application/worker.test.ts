import { type Clock, systemClock } from "@drover/kernel";
import { fakeClock } from "@drover/testkit";
import { expect, test, vi } from "vitest";
import type { Claim } from "./ports.ts";
import type { RunControl } from "./run-control.ts";
import { startWorker, type WorkerParts } from "./worker.ts";

const options = { name: "w", slots: 2, leaseTtlMs: 60_000, perTenant: 100, maxIdle: 5, pollMs: 20, graceMs: 50 };

function setUp(run: WorkerParts["run"], queue: Claim[], clock: Clock = systemClock) {
  const released: Claim[] = [];
  const claim = vi.fn(async (_owner: string, { limit }: { limit: number }) => queue.splice(0, limit));
  const store = {
    claim,
    reclaim: vi.fn(async () => 0),
    renew: async () => ({ cancelRequested: false, wallMsUsed: 0 }),
    release: async (given: Claim) => void released.push(given),
  };
  const faults: unknown[] = [];
  const worker = startWorker({ store, clock, run, onFault: (fault) => faults.push(fault) }, options);
  return { worker, claim, released, faults };
}

const claims = (count: number): Claim[] =>
  Array.from({ length: count }, (_, i) => ({ tenant: "acme", taskId: `t${i}`, epoch: 1 }));

test("it never works on more tasks than it has slots, and works all of them off", async () => {
  let active = 0;
  let most = 0;
  const done: string[] = [];
  const run = async ({ taskId }: Claim) => {
    most = Math.max(most, ++active);
    await new Promise((resolve) => setTimeout(resolve, 5));
    active--;
    done.push(taskId);
    return "ended" as const;
  };
  const { worker, released } = setUp(run, claims(9));
  await expect.poll(() => done).toHaveLength(9);
  expect(most).toBe(2);
  await worker[Symbol.asyncDispose]();
  expect(released).toEqual([]);
});

test("a wake-up claims at once, long before the next poll", async () => {
  const queue: Claim[] = [];
  const begun = vi.fn(async () => "ended" as const);
  // The next poll never comes: this clock stands still.
  const { worker, claim } = setUp(begun, queue, fakeClock());
  await expect.poll(() => claim.mock.calls.length).toBe(1);
  queue.push(...claims(1));
  worker.wake();
  await expect.poll(() => begun.mock.calls.length).toBe(1);
  await worker[Symbol.asyncDispose]();
});

test("a run that throws and a claim that fails are told, and the worker lives on", async () => {
  const run = vi.fn(async () => Promise.reject(new Error("broken")));
  const { worker, claim, faults } = setUp(run, claims(1));
  claim.mockRejectedValueOnce(new Error("no database"));
  await expect.poll(() => faults).toHaveLength(2);
  await worker[Symbol.asyncDispose]();
});

test("a drain lets the step at hand finish within the grace, then aborts it; both give the task back", async () => {
  const seen: RunControl[] = [];
  const drained = Promise.withResolvers<void>();
  const clock = fakeClock();
  const run = async (claim: Claim, control: RunControl) => {
    seen.push(control);
    if (claim.taskId === "t0") await drained.promise;
    else await new Promise((resolve) => control.signal.addEventListener("abort", resolve, { once: true }));
    return "give_back" as const;
  };
  const { worker, released } = setUp(run, claims(2), clock);
  await expect.poll(() => seen).toHaveLength(2);
  const stopped = worker[Symbol.asyncDispose]();
  await clock.advance(options.graceMs - 1);
  expect(seen.map((control) => [control.draining, control.stopped])).toEqual([
    [true, undefined],
    [true, undefined],
  ]);
  drained.resolve();
  await expect.poll(() => released.map((claim) => claim.taskId)).toEqual(["t0"]);
  await clock.advance(1);
  await stopped;
  expect(seen.map((control) => control.stopped)).toEqual([undefined, "DRAINING"]);
  expect(released.map((claim) => claim.taskId).sort()).toEqual(["t0", "t1"]);
  expect(worker.active).toBe(0);
});
