import { DroverError } from "./errors.ts";

/** Throws the signal's reason when it has aborted; for the start of a step in a loop. */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw DroverError.from(signal.reason);
}

/**
 * Runs `work` with a signal that aborts when `parent` does or after `ms`; the time-out's reason is a
 * DEADLINE_EXCEEDED that names `what`. The timer is always cleared.
 */
export async function withTimeout<T>(
  what: string,
  ms: number,
  parent: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const own = new AbortController();
  const timer = setTimeout(
    () => own.abort(new DroverError("DEADLINE_EXCEEDED", `${what} took longer than ${ms} ms.`)),
    ms,
  );
  try {
    return await work(parent === undefined ? own.signal : AbortSignal.any([parent, own.signal]));
  } finally {
    clearTimeout(timer);
  }
}
