import type { Bus } from "@drover/bus";
import { type Random, randomOf } from "./random.ts";

/** Longest delay of a message, ms. */
const longestMs = 1_500;

/**
 * A bus whose deliveries come late, twice or not at all, as those of an at-least-once queue with a slow consumer and
 * those of a core subject do.
 */
export function disturbedBus(bus: Bus, seed: number): Bus {
  const random = randomOf(seed);
  return {
    publish(subject, data) {
      if (random.below(10) === 0) return;
      bus.publish(subject, data);
    },
    subscribe: (pattern, handler) =>
      bus.subscribe(pattern, (message) => {
        deliver(random, () => handler(message));
      }),
    enqueue: (subject, data, messageId) => bus.enqueue(subject, data, messageId),
    consume: (options) => bus.consume(options),
    healthy: () => bus.healthy(),
    [Symbol.asyncDispose]: () => bus[Symbol.asyncDispose](),
  };
}

function deliver(random: Random, handle: () => void): void {
  const copies = random.below(3) === 0 ? 2 : 1;
  for (let copy = 0; copy < copies; copy++) {
    if (random.below(2) === 0) handle();
    else setTimeout(handle, random.below(longestMs)).unref();
  }
}
