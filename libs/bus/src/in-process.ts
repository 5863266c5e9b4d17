import { type Bus, type BusLogger, type BusMessage, checkData, checkQueued, type Subscription } from "./bus.ts";
import { InProcessQueue, type InProcessQueueLimits } from "./in-process-queue.ts";
import { matches, type Subject, type SubjectPattern, tokensOf } from "./subjects.ts";

export interface InProcessBusOptions extends Partial<InProcessQueueLimits> {
  readonly logger?: BusLogger;
}

interface Listener {
  readonly pattern: SubjectPattern;
  readonly handler: (message: BusMessage) => void;
}

/**
 * A bus within one process, for the embedded profile and for tests. Messages are delivered after the publisher's turn,
 * in order, each listener with bytes of its own. The work queue is in memory: what is in it is lost with the process.
 */
export function createInProcessBus(options: InProcessBusOptions = {}): Bus {
  const listeners = new Set<Listener>();
  const queue = new InProcessQueue(options);
  let open = true;
  const deliver = (subject: Subject, data: Uint8Array) => {
    for (const listener of listeners) {
      if (!matches(listener.pattern, subject)) continue;
      try {
        listener.handler({ subject, tokens: tokensOf(subject), data: data.slice() });
      } catch (error) {
        options.logger?.warn({ err: error, subject }, "a bus handler threw");
      }
    }
  };
  return {
    publish(subject, data) {
      checkData(data);
      const copy = data.slice();
      if (open) setImmediate(deliver, subject, copy);
    },
    subscribe(pattern, handler): Subscription {
      const listener = { pattern, handler };
      listeners.add(listener);
      return {
        ready: Promise.resolve(),
        async [Symbol.asyncDispose]() {
          listeners.delete(listener);
        },
      };
    },
    async enqueue(subject, data, messageId) {
      checkQueued(subject, data, messageId);
      queue.add(subject, data.slice(), messageId);
    },
    consume: (consumeOptions) => queue.consume(consumeOptions),
    healthy: () => open,
    async [Symbol.asyncDispose]() {
      open = false;
      listeners.clear();
      await queue[Symbol.asyncDispose]();
    },
  };
}
