import { DroverError, throwIfAborted } from "@drover/kernel";
import type { Endpoint } from "./endpoint.ts";
import { endpointError } from "./endpoint-error.ts";

/** The signals of one call: the caller's, joined with the time-out for the whole. */
export interface CallScope extends Disposable {
  readonly signal: AbortSignal;
}

/** Starts the clock of a whole call; disposing stops it. */
export function callScope(endpoint: Endpoint, parent: AbortSignal | undefined): CallScope {
  const timer = abortAfter(endpoint.totalTimeoutMs, () =>
    timedOut(`The model endpoint ${endpoint.host} took longer than ${endpoint.totalTimeoutMs} ms for its answer.`),
  );
  return {
    signal: parent === undefined ? timer.signal : AbortSignal.any([parent, timer.signal]),
    [Symbol.dispose]: timer[Symbol.dispose],
  };
}

/**
 * Runs `work` until it succeeds, at most `maxRetries + 1` times. Each attempt gets a signal that also
 * aborts when no first byte came in time. Only retryable faults are tried again, after the provider's
 * Retry-After or an exponential wait with jitter; a wait longer than `maxRetryWaitMs` is left to the
 * caller, who finds it in the error. Waits end at once when `signal` aborts.
 */
export async function withAttempts<T>(
  endpoint: Endpoint,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  for (let attempt = 0; ; attempt++) {
    throwIfAborted(signal);
    try {
      return await oneAttempt(endpoint, signal, work);
    } catch (caught) {
      const error = endpointError(endpoint, caught, signal);
      const waitMs = error.retryAfterMs ?? backoffMs(attempt);
      if (!error.retryable || attempt >= endpoint.maxRetries || waitMs > endpoint.maxRetryWaitMs) throw error;
      await endpoint.clock.sleep(waitMs, signal).catch(() => throwIfAborted(signal));
    }
  }
}

async function oneAttempt<T>(
  endpoint: Endpoint,
  parent: AbortSignal,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  using timer = abortAfter(endpoint.firstByteTimeoutMs, () =>
    timedOut(`The model endpoint ${endpoint.host} sent nothing for ${endpoint.firstByteTimeoutMs} ms.`),
  );
  const signal = firstOfTwo(parent, timer.signal);
  try {
    return await work(signal);
  } catch (error) {
    throwIfAborted(signal);
    throw error;
  }
}

/**
 * Aborts with the first of the two. A joined signal of the runtime looks at all its sources whenever it is asked, and
 * the client asks it at each chunk. The listeners live no longer than the call, whose signal `parent` is.
 */
function firstOfTwo(parent: AbortSignal, other: AbortSignal): AbortSignal {
  const controller = new AbortController();
  for (const source of [parent, other]) {
    if (source.aborted) controller.abort(source.reason);
    source.addEventListener("abort", () => controller.abort(source.reason), { once: true });
  }
  return controller.signal;
}

/** 0.5 s doubling up to 8 s, of which a random half is waited (full jitter would allow no wait at all). */
function backoffMs(attempt: number): number {
  const ceiling = Math.min(8_000, 500 * 2 ** attempt);
  return ceiling / 2 + Math.random() * (ceiling / 2);
}

function abortAfter(ms: number, reason: () => DroverError): CallScope {
  const controller = new AbortController();
  const timer = setTimeout(() => controller.abort(reason()), ms);
  return { signal: controller.signal, [Symbol.dispose]: () => clearTimeout(timer) };
}

function timedOut(message: string): DroverError {
  return new DroverError("DEADLINE_EXCEEDED", message, { reason: "MODEL_TIMEOUT" });
}
