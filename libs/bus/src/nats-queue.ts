import { DroverError, systemClock } from "@drover/kernel";
import {
  type ConsumerMessages,
  JetStreamApiError,
  type JetStreamClient,
  type JsMsg,
  jetstream,
  jetstreamManager,
} from "@nats-io/jetstream";
import type { NatsConnection } from "@nats-io/transport-node";
import { type BusLogger, type ConsumeOptions, checkQueued, type Subscription } from "./bus.ts";
import { gather } from "./gather.ts";
import { ackWaitMs, buriedPrefix, durableName, ensureQueue, streamNames } from "./nats-stream.ts";
import { type Subject, tokensOf } from "./subjects.ts";
import { type Delivery, handleBatch } from "./work-batch.ts";

const publishTimeoutMs = 5_000;
const resumeDelayMs = 500;
const storeFull = 10077;
const lostResource = new Set(["consumer_deleted", "consumer_not_found", "stream_not_found"]);

/** The work queue on JetStream. */
export class NatsQueue implements AsyncDisposable {
  readonly #connection: NatsConnection;
  readonly #connected: () => boolean;
  readonly #logger: BusLogger | undefined;
  readonly #client: JetStreamClient;
  readonly #consumers = new Set<Subscription>();
  #ensured: Promise<void> | undefined;

  constructor(connection: NatsConnection, connected: () => boolean, logger: BusLogger | undefined) {
    this.#connection = connection;
    this.#connected = connected;
    this.#logger = logger;
    this.#client = jetstream(connection, { timeout: publishTimeoutMs });
  }

  async add(subject: Subject, data: Uint8Array, messageId: string): Promise<void> {
    checkQueued(subject, data, messageId);
    if (!this.#connected()) throw unavailable(undefined);
    try {
      await this.#ensure();
      await this.#client.publish(subject, data, { msgID: messageId, timeout: publishTimeoutMs });
    } catch (error) {
      // Somebody may have removed the stream; the next attempt makes it again.
      this.#ensured = undefined;
      throw asBusError(error);
    }
  }

  consume(options: ConsumeOptions): Subscription {
    const stop = new AbortController();
    const started = Promise.withResolvers<void>();
    // Who does not await it must not be ended by a server that is away at the start.
    started.promise.catch(() => {});
    const running = this.#run(options, stop.signal, started);
    const subscription: Subscription = {
      ready: started.promise,
      [Symbol.asyncDispose]: async () => {
        this.#consumers.delete(subscription);
        stop.abort();
        await running;
      },
    };
    this.#consumers.add(subscription);
    return subscription;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([...this.#consumers].map((consumer) => consumer[Symbol.asyncDispose]()));
  }

  /** Makes what is missing, once for all callers; a failure is forgotten, so that the next caller tries again. */
  #ensure(): Promise<void> {
    this.#ensured ??= jetstreamManager(this.#connection, { timeout: publishTimeoutMs })
      .then(ensureQueue)
      .catch((error: unknown) => {
        this.#ensured = undefined;
        throw error;
      });
    return this.#ensured;
  }

  async #run(options: ConsumeOptions, signal: AbortSignal, started: PromiseWithResolvers<void>): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#ensure();
        const consumer = await this.#client.consumers.get(streamNames.queue, durableName);
        const messages = await consumer.consume({
          max_messages: options.batchSize ?? 64,
          abort_on_missing_resource: true,
        });
        started.resolve();
        await this.#handleAll(messages, options, signal);
      } catch (error) {
        if (!signal.aborted) this.#logger?.warn({ err: error }, "the work queue is interrupted");
      }
      this.#ensured = undefined;
      await systemClock.sleep(resumeDelayMs, signal).catch(() => {});
    }
    started.resolve();
  }

  /** Handles until the consumer is lost or the signal aborts. */
  async #handleAll(messages: ConsumerMessages, options: ConsumeOptions, signal: AbortSignal): Promise<void> {
    const stop = () => void messages.close();
    signal.addEventListener("abort", stop, { once: true });
    const watching = stopWhenLost(messages);
    try {
      for await (const batch of gather(messages, options.batchSize ?? 64)) {
        if (signal.aborted) return;
        await this.#handle(batch, options, signal);
      }
    } finally {
      signal.removeEventListener("abort", stop);
      await messages.close();
      await watching;
    }
  }

  async #handle(batch: readonly JsMsg[], options: ConsumeOptions, signal: AbortSignal): Promise<void> {
    const open = new Set(batch);
    const alive = setInterval(() => open.forEach((message) => void message.working()), ackWaitMs / 3);
    try {
      await handleBatch(
        batch.map((message) => this.#delivery(message, open)),
        options,
        signal,
      );
    } catch (error) {
      for (const message of open) message.nak();
      throw error;
    } finally {
      clearInterval(alive);
    }
  }

  #delivery(message: JsMsg, open: Set<JsMsg>): Delivery {
    const { subject, data } = message;
    const settled = (action: () => void) => {
      open.delete(message);
      action();
    };
    return {
      message: { subject, tokens: tokensOf(subject), data, deliveries: message.info.deliveryCount },
      ack: () => settled(() => message.ack()),
      retry: (delayMs) => settled(() => message.nak(delayMs)),
      bury: async () => {
        const kept = subject.replace(/^drover\./, buriedPrefix);
        await this.#client.publish(kept, data).catch((error: unknown) => {
          this.#logger?.warn({ err: error, subject }, "a message that was given up could not be kept");
        });
        settled(() => message.term());
      },
    };
  }
}

async function stopWhenLost(messages: ConsumerMessages): Promise<void> {
  for await (const status of messages.status()) if (lostResource.has(status.type)) await messages.close();
}

function asBusError(error: unknown): DroverError {
  if (error instanceof DroverError) return error;
  if (error instanceof JetStreamApiError && error.code === storeFull) {
    return new DroverError("RESOURCE_EXHAUSTED", "The work queue is full.", { reason: "QUEUE_FULL", cause: error });
  }
  return unavailable(error);
}

function unavailable(cause: unknown): DroverError {
  return new DroverError("UNAVAILABLE", "The work queue is not available.", {
    reason: "BUS_UNAVAILABLE",
    retryAfterMs: 1000,
    cause,
  });
}
