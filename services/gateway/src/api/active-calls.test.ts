import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ActiveCalls } from "./active-calls.ts";

describe("ActiveCalls", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const call = (calls: ActiveCalls, resumable: boolean) => {
    const self = {
      resumable,
      ended: "",
      end(error: { code: string }) {
        self.ended = error.code;
        calls.delete(self);
      },
    };
    calls.add(self);
    return self;
  };

  it("ends watches at once and waits for the rest", async () => {
    const calls = new ActiveCalls();
    const [watch, run] = [call(calls, true), call(calls, false)];
    const drained = calls.drain(1000);
    expect([watch.ended, run.ended]).toEqual(["UNAVAILABLE", ""]);
    calls.delete(run);
    await drained;
    expect(run.ended).toBe("");
  });

  it("ends what is left after the grace, and a watch that comes too late", async () => {
    const calls = new ActiveCalls();
    const run = call(calls, false);
    const drained = calls.drain(1000);
    expect(call(calls, true).ended).toBe("UNAVAILABLE");
    await vi.advanceTimersByTimeAsync(1000);
    await drained;
    expect([run.ended, calls.size]).toEqual(["UNAVAILABLE", 0]);
  });
});
