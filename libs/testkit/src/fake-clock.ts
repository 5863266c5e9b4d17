import { type Clock, DroverError } from "@drover/kernel";

/** A clock that stands still until it is told to go on. */
export interface FakeClock extends Clock {
  /**
   * Moves on by `ms`, waking sleepers in the order they are due, each at its own time. Between two of them everything
   * that can run without real time runs, so a woken sleeper may sleep again within the same advance.
   */
  advance(ms: number): Promise<void>;
  /** How many sleep at present. */
  readonly sleepers: number;
}

interface Sleeper {
  readonly dueMs: number;
  readonly wake: () => void;
}

/** A fake clock that begins at `start`, by default the first moment of 2030. */
export function fakeClock(start: Date = new Date("2030-01-01T00:00:00Z")): FakeClock {
  let elapsedMs = 0;
  const sleepers = new Set<Sleeper>();
  const next = (untilMs: number) =>
    [...sleepers].filter(({ dueMs }) => dueMs <= untilMs).sort((a, b) => a.dueMs - b.dueMs)[0];
  return {
    now: () => new Date(start.getTime() + elapsedMs),
    monotonicMs: () => elapsedMs,
    sleep: (ms, signal) =>
      new Promise((resolve, reject) => {
        if (signal?.aborted) return reject(signal.reason);
        const settle = (then: () => void) => {
          sleepers.delete(sleeper);
          signal?.removeEventListener("abort", onAbort);
          then();
        };
        const onAbort = () => settle(() => reject(signal?.reason));
        const sleeper: Sleeper = { dueMs: elapsedMs + Math.max(0, ms), wake: () => settle(resolve) };
        sleepers.add(sleeper);
        signal?.addEventListener("abort", onAbort, { once: true });
      }),
    async advance(ms) {
      if (!(ms >= 0)) throw new DroverError("INTERNAL", "A clock does not go back.");
      const untilMs = elapsedMs + ms;
      await settled();
      for (let due = next(untilMs); due !== undefined; due = next(untilMs)) {
        elapsedMs = due.dueMs;
        due.wake();
        await settled();
      }
      elapsedMs = untilMs;
    },
    get sleepers() {
      return sleepers.size;
    },
  };
}

/** Lets every pending promise and immediate run. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
