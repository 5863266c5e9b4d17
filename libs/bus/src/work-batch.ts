import { DroverError, systemClock } from "@drover/kernel";
import type { ConsumeOptions, QueuedMessage } from "./bus.ts";

/** A message together with what can become of it. */
export interface Delivery {
  readonly message: QueuedMessage;
  /** It was handled. */
  ack(): void;
  /** It comes again after the delay, while others go on. */
  retry(delayMs: number): void;
  /** It is given up. */
  bury(): Promise<void>;
}

const maxRetryDelayMs = 10_000;

/**
 * Handles one batch to its end. Whose fault a failure is decides: a retryable error (the database is away) is nobody's,
 * so the batch waits and is tried again as it is; any other error is a message's own, so each is tried alone. Rejects
 * with the signal's reason when it aborts between two attempts; what was not acknowledged then comes again.
 */
export async function handleBatch(
  batch: readonly Delivery[],
  options: ConsumeOptions,
  signal: AbortSignal,
): Promise<void> {
  try {
    await attempt(batch, options, signal);
  } catch (error) {
    if (signal.aborted) throw error;
    if (batch.length === 1) return await settle(batch[0], options, error);
    for (const delivery of batch) await handleBatch([delivery], options, signal);
  }
}

/** Resolves when the batch was handled; rejects with an error that trying again does not cure. */
async function attempt(batch: readonly Delivery[], options: ConsumeOptions, signal: AbortSignal): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      await options.handler(batch.map(({ message }) => message));
      for (const delivery of batch) delivery.ack();
      return;
    } catch (error) {
      if (!(error instanceof DroverError && error.retryable)) throw error;
    }
    await systemClock.sleep(delayAfter(tries, options), signal);
  }
}

async function settle(delivery: Delivery | undefined, options: ConsumeOptions, error: unknown): Promise<void> {
  if (delivery === undefined) return;
  const { message } = delivery;
  if (message.deliveries < (options.maxDeliveries ?? 5)) {
    delivery.retry(delayAfter(message.deliveries, options));
    return;
  }
  await delivery.bury();
  options.onBuried?.(message, error);
}

function delayAfter(tries: number, options: ConsumeOptions): number {
  return Math.min(maxRetryDelayMs, (options.retryDelayMs ?? 200) * 2 ** Math.min(tries - 1, 20));
}
