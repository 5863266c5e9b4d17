import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type Connection, type WatchPiece, watchLoop } from "./watch-loop.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const broken = new Error("broken");
const final = new Error("final");

/** Runs the loop over scripted streams: a number is a piece, an error breaks, "silence" hangs. */
function run(streams: readonly (readonly (number | Error | "silence")[])[]) {
  const opened: bigint[] = [];
  const pieces: bigint[] = [];
  const connections: Connection[] = [];
  const waits: number[] = [];
  const leaving = new AbortController();
  async function* open(after: bigint, signal: AbortSignal): AsyncGenerator<WatchPiece> {
    const script = streams[opened.push(after) - 1] ?? [];
    for (const step of script) {
      if (step instanceof Error) throw step;
      if (step === "silence") {
        await new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
      } else yield { revision: BigInt(step) };
    }
  }
  const done = watchLoop(
    {
      open,
      onPiece: ({ revision }) => pieces.push(revision),
      onConnection: (connection) => connections.push(connection),
      isFinal: (error) => error === final,
      sleep: async (ms) => void waits.push(ms),
      silenceMs: 1_000,
    },
    leaving.signal,
  );
  return { done, opened, pieces, connections, waits, leaving };
}

describe("watchLoop", () => {
  it("resumes from the last revision until the stream ends by itself", async () => {
    const { done, opened, pieces, connections } = run([[1, 4, broken], [6]]);
    await done;
    expect(opened).toEqual([0n, 4n]);
    expect(pieces).toEqual([1n, 4n, 6n]);
    expect(connections).toEqual(["live", "live", "lost", "live", "complete"]);
  });

  it("waits longer from time to time, and short again after something came", async () => {
    const { done, waits } = run([[broken], [broken], [broken], [1, broken], []]);
    await done;
    expect(waits).toEqual([500, 1_000, 2_000, 500]);
  });

  it("takes a stream without a heartbeat for dead", async () => {
    const { done, opened, connections } = run([[3, "silence"], []]);
    await vi.advanceTimersByTimeAsync(1_100);
    await done;
    expect(opened).toEqual([0n, 3n]);
    expect(connections).toEqual(["live", "lost", "complete"]);
  });

  it("throws what trying again cannot cure", async () => {
    await expect(run([[1, final]]).done).rejects.toBe(final);
  });

  it("ends quietly when the page is left", async () => {
    const { done, leaving, connections } = run([[1, "silence"]]);
    await vi.advanceTimersByTimeAsync(10);
    leaving.abort();
    await done;
    expect(connections).toEqual(["live"]);
  });
});
