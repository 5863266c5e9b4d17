import { systemClock } from "@drover/kernel";
import { fakeClock } from "@drover/testkit";
import { expect, test, vi } from "vitest";
import { keepLease } from "./lease.ts";
import type { TaskStore } from "./ports.ts";
import { RunControl } from "./run-control.ts";

const claim = { tenant: "acme", taskId: "t", epoch: 1 };

function start(renew: TaskStore["renew"], ttlMs = 30, clock = systemClock) {
  const control = new RunControl();
  const lease = keepLease({ store: { renew }, clock, ttlMs }, claim, control);
  return { control, lease };
}

test("it renews at a third of the time to live until it is disposed of", async () => {
  const renew = vi.fn(async () => ({ cancelRequested: false, wallMsUsed: 0 }));
  const clock = fakeClock();
  const { control, lease } = start(renew, 30_000, clock);
  await clock.advance(9_999);
  expect(renew).not.toHaveBeenCalled();
  await clock.advance(20_001);
  expect(renew).toHaveBeenCalledTimes(3);
  await lease[Symbol.asyncDispose]();
  await clock.advance(60_000);
  expect(renew).toHaveBeenCalledTimes(3);
  expect(control.stopped).toBeUndefined();
});

test.each([
  ["finds nothing", async () => undefined],
  ["fails", () => Promise.reject(new Error("no database"))],
  ["hangs", () => new Promise<never>(() => undefined)],
])("a renewal that %s aborts the run and is the last", async (_, renew) => {
  const { control, lease } = start(renew);
  await expect.poll(() => control.stopped).toBe("LEASE_LOST");
  expect(control.signal.aborted).toBe(true);
  await lease[Symbol.asyncDispose]();
});

test("a look finds a cancel long before the renewal would", async () => {
  const { control, lease } = start(async () => ({ cancelRequested: true, wallMsUsed: 0 }), 600_000);
  lease.look();
  await expect.poll(() => control.stopped).toBe("TASK_CANCELLED");
  await lease[Symbol.asyncDispose]();
});

test("a lost lease overrules a cancel, never the other way round", () => {
  const cancelled = new RunControl();
  cancelled.cancel();
  cancelled.loseLease();
  expect(cancelled.stopped).toBe("LEASE_LOST");
  const lost = new RunControl();
  lost.loseLease();
  lost.cancel();
  expect(lost.stopped).toBe("LEASE_LOST");
});
