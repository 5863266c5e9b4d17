import { systemClock } from "@drover/kernel";
import { fakeClock } from "@drover/testkit";
import { noopTracer } from "@drover/tracing";
import { expect, test, vi } from "vitest";
import { FakePurges } from "../../test/fake-purges.ts";
import { type PurgeRunnerParts, startPurgeRunner } from "./purge-runner.ts";

function setUp(changes: Partial<PurgeRunnerParts> = {}) {
  const record = new FakePurges({ kind: "user", subject: "alice" }, []);
  const faults: string[] = [];
  const parts: PurgeRunnerParts = {
    purges: record.store,
    erasers: { erase: async () => ({ removed: 0, more: false }) },
    // There is no task, so neither is asked for anything.
    store: {} as unknown as PurgeRunnerParts["store"],
    signals: {} as unknown as PurgeRunnerParts["signals"],
    ...{ tracer: noopTracer, clock: systemClock, settleMs: 0, replica: "a", pollMs: 20, receiptDays: 400 },
    onFault: (fault, what) => faults.push(`${what}: ${fault}`),
    ...changes,
  };
  return { record, parts, faults };
}

test("a wake-up takes a removal up at once, long before the next look", async () => {
  const { record, parts } = setUp({ clock: fakeClock() });
  record.nextAt = 1;
  const claim = vi.fn(parts.purges.claim);
  // The next look never comes: this clock stands still.
  const runner = startPurgeRunner({ ...parts, purges: { ...parts.purges, claim } });
  await expect.poll(() => claim.mock.calls.length).toBe(1);
  record.time = 1;
  runner.wake();
  await expect.poll(() => record.completed).toBe(true);
  await runner[Symbol.asyncDispose]();
});

test("a fault is told and the next look goes on", async () => {
  const { record, parts, faults } = setUp();
  record.crashAt = 2;
  const runner = startPurgeRunner(parts);
  await expect.poll(() => faults).toHaveLength(1);
  expect(faults[0]).toContain("a removal broke off: DroverError: The process was killed here.");
  record.wait();
  await expect.poll(() => record.completed).toBe(true);
  await runner[Symbol.asyncDispose]();
});

test("a drain gives up the call at hand and gives the removal back for the next replica", async () => {
  const asked = vi.fn(
    (_service: unknown, _claim: unknown, _targets: unknown, signal: AbortSignal) =>
      new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason))),
  );
  const { record, parts, faults } = setUp({ erasers: { erase: asked } });
  const runner = startPurgeRunner(parts);
  await expect.poll(() => asked.mock.calls.length).toBe(4);
  await runner[Symbol.asyncDispose]();
  expect(record.held).toBe(false);
  expect(record.nextAt).toBe(0);
  expect([...record.parts.values()].map(({ failures }) => failures)).toEqual([0, 0, 0, 0]);
  expect(faults).toEqual([]);
});

test("receipts that are too old are forgotten once an hour", async () => {
  const clock = fakeClock();
  const { parts } = setUp({ clock, pollMs: 600_000 });
  const forget = vi.fn(async (_days: number) => undefined);
  const runner = startPurgeRunner({ ...parts, purges: { ...parts.purges, claim: async () => undefined, forget } });
  await expect.poll(() => clock.sleepers).toBe(1);
  await clock.advance(3_599_999);
  expect(forget.mock.calls).toEqual([[400]]);
  await clock.advance(1);
  await expect.poll(() => forget.mock.calls.length).toBe(2);
  await runner[Symbol.asyncDispose]();
});
