import { DroverError } from "@drover/kernel";
import { expect, test, vi } from "vitest";
import { withPatience } from "./patience.ts";

function clock() {
  let now = 0;
  return {
    now: () => new Date(now),
    monotonicMs: () => now,
    sleep: async (ms: number) => {
      now += ms;
    },
  };
}

const away = new DroverError("UNAVAILABLE", "away");
const never = new AbortController().signal;

test("a passing failure is waited out, with longer and longer waits, for the time that was given", async () => {
  const patience = { totalMs: 10_000, clock: clock() };
  const work = vi.fn().mockRejectedValueOnce(away).mockRejectedValueOnce(away).mockResolvedValueOnce("there");
  expect(await withPatience(patience, never, work)).toBe("there");
  expect(patience.clock.monotonicMs()).toBe(600);
  const dead = vi.fn().mockRejectedValue(away);
  await expect(withPatience(patience, never, dead)).rejects.toBe(away);
  expect(patience.clock.monotonicMs()).toBeLessThanOrEqual(10_600);
  expect(dead.mock.calls.length).toBeGreaterThan(4);
});

test("a failure that does not pass, or that asks for too long a wait, is thrown at once", async () => {
  const refused = new DroverError("INVALID_ARGUMENT", "no");
  const work = vi.fn().mockRejectedValue(refused);
  await expect(withPatience({ totalMs: 1_000, clock: clock() }, never, work)).rejects.toBe(refused);
  const later = new DroverError("UNAVAILABLE", "later", { retryAfterMs: 60_000 });
  await expect(withPatience({ totalMs: 1_000, clock: clock() }, never, () => Promise.reject(later))).rejects.toBe(
    later,
  );
  expect(work).toHaveBeenCalledTimes(1);
});

test("an abort ends it with the abort's reason", async () => {
  const stop = new AbortController();
  const reason = new DroverError("CANCELLED", "stop");
  const work = async () => {
    stop.abort(reason);
    throw away;
  };
  await expect(withPatience({ totalMs: 1_000, clock: clock() }, stop.signal, work)).rejects.toBe(reason);
});
