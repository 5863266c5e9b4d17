import { type Clock, DroverError, throwIfAborted } from "@drover/kernel";

/** How long and how often a passing failure of another service is waited out. */
export interface Patience {
  readonly totalMs: number;
  readonly clock: Clock;
}

/** Waits between attempts: 0.2 s doubling up to 5 s. */
const firstWaitMs = 200;
const longestWaitMs = 5_000;

/**
 * Does `work` again while it fails with a retryable error, until `totalMs` are over; then the last
 * error is thrown. An abort ends a wait at once. `work` must be safe to repeat.
 */
export async function withPatience<T>(
  { totalMs, clock }: Patience,
  signal: AbortSignal,
  work: () => Promise<T>,
  onRetry?: (error: DroverError) => void,
): Promise<T> {
  const until = clock.monotonicMs() + totalMs;
  for (let attempt = 0; ; attempt++) {
    throwIfAborted(signal);
    try {
      return await work();
    } catch (caught) {
      throwIfAborted(signal);
      const error = DroverError.from(caught);
      const waitMs = Math.max(error.retryAfterMs ?? 0, Math.min(longestWaitMs, firstWaitMs * 2 ** attempt));
      if (!error.retryable || clock.monotonicMs() + waitMs > until) throw error;
      onRetry?.(error);
      await clock.sleep(waitMs, signal);
    }
  }
}
