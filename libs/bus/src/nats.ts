import { DroverError, systemClock } from "@drover/kernel";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { type Bus, type BusLogger, checkData, maxMessageBytes, type Subscription } from "./bus.ts";
import { NatsQueue } from "./nats-queue.ts";
import { tokensOf } from "./subjects.ts";

export interface NatsOptions {
  /** `nats://host:port`, several separated by commas. */
  readonly url: string;
  /** Name of the connection in the server's lists. */
  readonly name: string;
  /** Longest wait for the first connection. Default 30,000 ms: NATS often starts together with its services. */
  readonly connectTimeoutMs?: number;
  readonly logger?: BusLogger;
}

/** The oldest server whose features suffice. */
const minimumServer = [2, 9] as const;
const drainMs = 3_000;
/** Of one attempt at the first connection, and between two of them. */
const attemptMs = 5_000;
const againMs = 500;

/**
 * Connects to NATS and stays: after the first connection it reconnects for ever. UNAVAILABLE when the first one fails,
 * FAILED_PRECONDITION for a server before 2.9 or one that takes less than 256 KB a message. The queue's stream is made
 * at its first use, with JetStream.
 */
export async function connectNats(options: NatsOptions): Promise<Bus> {
  const connection = await firstConnection(options);
  try {
    checkServer(connection);
  } catch (error) {
    await connection.close();
    throw error;
  }
  const state = { connected: true };
  const watching = watchStatus(connection, state, options.logger);
  const queue = new NatsQueue(connection, () => state.connected, options.logger);
  return {
    publish(subject, data) {
      checkData(data);
      // The client would keep it for later without a bound, and a late hint is worth nothing.
      // The client sends later what it was given, so it gets bytes of its own.
      if (state.connected) connection.publish(subject, data.slice());
    },
    subscribe(pattern, handler): Subscription {
      const subscription = connection.subscribe(pattern, {
        callback: (error, message) => {
          try {
            if (error) throw error;
            handler({ subject: message.subject, tokens: tokensOf(message.subject), data: message.data });
          } catch (thrown) {
            options.logger?.warn({ err: thrown, subject: pattern }, "a bus handler threw");
          }
        },
      });
      const ready = connection.flush();
      // Who does not await it must not be ended by a connection that broke meanwhile.
      ready.catch(() => {});
      return {
        ready,
        async [Symbol.asyncDispose]() {
          subscription.unsubscribe();
        },
      };
    },
    enqueue: (subject, data, messageId) => queue.add(subject, data.slice(), messageId),
    consume: (consumeOptions) => queue.consume(consumeOptions),
    healthy: () => state.connected,
    async [Symbol.asyncDispose]() {
      await queue[Symbol.asyncDispose]();
      await closeGently(connection, state.connected);
      await watching;
    },
  };
}

async function firstConnection(options: NatsOptions): Promise<NatsConnection> {
  const waitMs = options.connectTimeoutMs ?? 30_000;
  const until = performance.now() + waitMs;
  for (;;) {
    try {
      return await connectOnce(options, Math.min(attemptMs, waitMs));
    } catch (error) {
      if (performance.now() + againMs > until) {
        throw new DroverError("UNAVAILABLE", "NATS is not available.", { reason: "BUS_UNAVAILABLE", cause: error });
      }
      await systemClock.sleep(againMs);
    }
  }
}

function connectOnce({ url, name }: NatsOptions, timeout: number): Promise<NatsConnection> {
  return connect({
    servers: url.split(",").map((server) => server.trim()),
    name,
    timeout,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 500,
    reconnectJitter: 500,
    pingInterval: 10_000,
    maxPingOut: 2,
  });
}

function checkServer(connection: NatsConnection): void {
  const { version = "0", max_payload = 0 } = connection.info ?? {};
  const [major = 0, minor = 0] = version.split(".").map(Number);
  if (major < minimumServer[0] || (major === minimumServer[0] && minor < minimumServer[1])) {
    throw new DroverError("FAILED_PRECONDITION", `nats-server ${version} is too old; 2.9 or later is needed.`);
  }
  if (max_payload < maxMessageBytes) {
    const found = `max_payload of nats-server is ${max_payload}`;
    throw new DroverError("FAILED_PRECONDITION", `${found}; at least ${maxMessageBytes} is needed.`);
  }
}

async function watchStatus(
  connection: NatsConnection,
  state: { connected: boolean },
  logger: BusLogger | undefined,
): Promise<void> {
  for await (const status of connection.status()) {
    if (status.type === "disconnect" || status.type === "close") state.connected = false;
    if (status.type === "reconnect") state.connected = true;
    if (status.type === "disconnect" || status.type === "reconnect") logger?.warn({}, `NATS ${status.type}`);
    if (status.type === "error") logger?.warn({ err: status.error }, "NATS reports an error");
  }
}

/** Sends what is still in the buffers when that is possible at all. */
async function closeGently(connection: NatsConnection, connected: boolean): Promise<void> {
  if (connected) {
    const late = AbortSignal.timeout(drainMs);
    await Promise.race([
      connection.drain().catch(() => {}),
      new Promise((resolve) => late.addEventListener("abort", resolve, { once: true })),
    ]);
  }
  await connection.close();
}
