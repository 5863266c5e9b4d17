import { type Bus, patterns } from "@drover/bus";
import type { Worker } from "../application/worker.ts";

/** Passes wake-ups and cancels from the bus on to this replica's worker. Every replica hears all of them. */
export function listenForTasks(bus: Bus, worker: Pick<Worker, "wake" | "look">): AsyncDisposable {
  const ready = bus.subscribe(patterns.ready("task"), () => worker.wake());
  const cancels = bus.subscribe(patterns.allCancels(), ({ tokens: [tenant = "", taskId = ""] }) =>
    worker.look(tenant, taskId),
  );
  return {
    async [Symbol.asyncDispose]() {
      await Promise.all([ready[Symbol.asyncDispose](), cancels[Symbol.asyncDispose]()]);
    },
  };
}
