import { toJsonString } from "@bufbuild/protobuf";
import { DroverError } from "@drover/kernel";
import { TaskEventSchema } from "@drover/proto/event/v1/task_event";
import type { Replica } from "../harness.ts";
import type { Operation, SeenEvent, Watched } from "./history.ts";

/** Codes after which nobody can say whether it happened. */
const unknowing = new Set(["UNAVAILABLE", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL", "ABORTED"]);
const callMs = 5_000;

/** Clients of a tenant, with everything that they asked for and saw. */
export class Recorder {
  readonly operations: Operation[] = [];
  readonly #tenant: string;
  /** A replica to ask; another one at every call. */
  readonly #any: () => Replica;
  readonly #watches = new Map<string, { readonly events: SeenEvent[]; complete: boolean }>();

  constructor(tenant: string, any: () => Replica) {
    this.#tenant = tenant;
    this.#any = any;
  }

  get watches(): Watched[] {
    return [...this.#watches].map(([taskId, watch]) => ({ taskId, ...watch }));
  }

  /** The id of the task, or undefined where it was refused or the answer was lost. */
  async submit(prompt: string): Promise<string | undefined> {
    return await this.#record("submit", "", async (replica) => {
      const { task } = await replica.client.submitTask({ prompt }, this.#options(replica));
      return { taskId: task?.id ?? "", accepted: true };
    });
  }

  async cancel(taskId: string, reason: string): Promise<void> {
    await this.#record("cancel", taskId, async (replica) => {
      const { task } = await replica.client.cancelTask({ taskId, reason }, this.#options(replica));
      return { taskId, accepted: task?.cancelRequested === true };
    });
  }

  /** Follows a task to its end over any number of broken streams, or until the signal aborts. */
  async watch(taskId: string, signal: AbortSignal): Promise<void> {
    const watch = { events: [] as SeenEvent[], complete: false };
    this.#watches.set(taskId, watch);
    while (!watch.complete && !signal.aborted) {
      await this.#follow(taskId, watch, signal).catch(() => new Promise((resolve) => setTimeout(resolve, 100)));
    }
  }

  async #follow(taskId: string, watch: { events: SeenEvent[]; complete: boolean }, signal: AbortSignal) {
    const replica = this.#any();
    const request = { taskId, afterSequence: BigInt(watch.events.length) };
    const stream = replica.client.watchTask(request, {
      ...replica.as(this.#tenant),
      signal: AbortSignal.any([signal, AbortSignal.timeout(callMs)]),
    });
    for await (const { message } of stream) {
      if (message.case !== "event") continue;
      const { sequence, event } = message.value;
      watch.events.push({ sequence: Number(sequence), text: toJsonString(TaskEventSchema, message.value) });
      watch.complete = event.case === "taskCompleted";
    }
  }

  #options(replica: Replica) {
    return { ...replica.as(this.#tenant), timeoutMs: callMs };
  }

  async #record(
    kind: Operation["kind"],
    taskId: string,
    ask: (replica: Replica) => Promise<{ readonly taskId: string; readonly accepted: boolean }>,
  ): Promise<string | undefined> {
    const invokedAt = performance.now();
    const settled = (outcome: Operation["outcome"], answer: { taskId: string; accepted: boolean }) => {
      this.operations.push({ kind, invokedAt, settledAt: performance.now(), outcome, ...answer });
    };
    try {
      const answer = await ask(this.#any());
      settled("ok", answer);
      return answer.taskId;
    } catch (error) {
      settled(unknowing.has(DroverError.from(error).code) ? "unknown" : "failed", { taskId, accepted: false });
      return undefined;
    }
  }
}
