import { Reaper } from "./reaper.ts";

/** Rounds of a reaper from now on; disposing waits for the one that is under way. */
export function startReaping(intervalMs: number, ...parts: ConstructorParameters<typeof Reaper>): AsyncDisposable {
  const stop = new AbortController();
  const reaping = new Reaper(...parts).run(intervalMs, stop.signal);
  return {
    [Symbol.asyncDispose]: () => {
      stop.abort();
      return reaping;
    },
  };
}
