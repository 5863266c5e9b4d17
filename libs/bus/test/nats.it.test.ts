import { once } from "node:events";
import { type AddressInfo, connect as connectTo, createServer } from "node:net";
import { type StartedNats, startNats } from "@drover/testkit";
import { jetstreamManager } from "@nats-io/jetstream";
import { connect } from "@nats-io/transport-node";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Bus, connectNats, patterns, subjects } from "../src/index.ts";
import { busContract } from "./bus.contract.ts";

// A server of its own: the run's shared one has other consumers of the one queue.
let server: StartedNats;
beforeAll(async () => {
  server = await startNats();
});
afterAll(() => server[Symbol.asyncDispose]());

const open = () => connectNats({ url: server.url, name: "test" });
const soon = { timeout: 30_000, interval: 20 };
const enqueue = (bus: Bus, id: string) => bus.enqueue(subjects.trace("t", "trace"), new TextEncoder().encode(id), id);

/** Runs `work` with the JetStream administration of the server. */
async function administer<T>(work: (jsm: Awaited<ReturnType<typeof jetstreamManager>>) => Promise<T>): Promise<T> {
  const connection = await connect({ servers: server.url });
  try {
    return await work(await jetstreamManager(connection));
  } finally {
    await connection.close();
  }
}

describe("on NATS", () => busContract(open));

describe("the NATS server", () => {
  test("that is not there is UNAVAILABLE", async () => {
    const connecting = connectNats({ url: "nats://127.0.0.1:1", name: "test", connectTimeoutMs: 500 });
    await expect(connecting).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  test("that is still starting is waited for", async () => {
    const url = new URL(server.url);
    let refused = 0;
    await using proxy = createServer((socket) => {
      if (refused++ < 2) return void socket.destroy();
      const through = connectTo(Number(url.port), url.hostname);
      socket.on("error", () => through.destroy()).pipe(through);
      through.on("error", () => socket.destroy()).pipe(socket);
    });
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    const { port } = proxy.address() as AddressInfo;
    await using bus = await connectNats({ url: `nats://127.0.0.1:${port}`, name: "test" });
    expect([bus.healthy(), refused]).toEqual([true, 3]);
  });

  test("may have a deleted stream or consumer: both are made again and the queue goes on", async () => {
    await using bus = await open();
    const handled: string[] = [];
    await using consumer = bus.consume({
      handler: async (batch) => void handled.push(...batch.map(({ data }) => new TextDecoder().decode(data))),
    });
    await consumer.ready;
    await administer((jsm) => jsm.consumers.delete("DROVER_TRACE", "store"));
    await enqueue(bus, "after-consumer");
    await vi.waitFor(() => expect(handled).toEqual(["after-consumer"]), soon);
    await administer((jsm) => jsm.streams.delete("DROVER_TRACE"));
    await vi.waitFor(() => enqueue(bus, "after-stream"), soon);
    await vi.waitFor(() => expect(handled).toEqual(["after-consumer", "after-stream"]), soon);
  });

  test("that keeps the stream with other settings is told by name", async () => {
    await administer(async (jsm) => {
      await jsm.streams.delete("DROVER_TRACE");
      await jsm.streams.add({ name: "DROVER_TRACE", subjects: ["drover.trace.>"], retention: "limits" });
    });
    try {
      await using bus = await open();
      await expect(enqueue(bus, "x")).rejects.toThrow(/retention/);
    } finally {
      await administer((jsm) => jsm.streams.delete("DROVER_TRACE"));
    }
  });

  test("that keeps what was given up for a day", async () => {
    await using bus = await open();
    const buried = Promise.withResolvers<string>();
    await using _consumer = bus.consume({
      maxDeliveries: 1,
      onBuried: ({ subject }) => buried.resolve(subject),
      handler: async () => {
        throw new Error("cannot read this");
      },
    });
    await enqueue(bus, "given-up");
    const subject = await buried.promise;
    const kept = await administer((jsm) =>
      jsm.streams.getMessage("DROVER_BURIED", { last_by_subj: subject.replace("drover.", "drover.buried.") }),
    );
    expect(kept?.string()).toBe("given-up");
  });

  test("may go away: the bus says so, refuses the queue, drops hints, and goes on by itself afterwards", async () => {
    await using bus = await open();
    const heard = vi.fn();
    const handled: string[] = [];
    bus.subscribe(patterns.ready("task"), heard);
    await using consumer = bus.consume({
      handler: async (batch) => void handled.push(...batch.map(({ data }) => new TextDecoder().decode(data))),
    });
    await consumer.ready;
    await server.stop();
    await vi.waitFor(() => expect(bus.healthy()).toBe(false), soon);
    await expect(enqueue(bus, "away")).rejects.toMatchObject({ code: "UNAVAILABLE", retryable: true });
    bus.publish(subjects.ready("task"), new Uint8Array(1));
    await server.start();
    await vi.waitFor(() => expect(bus.healthy()).toBe(true), soon);
    await vi.waitFor(() => enqueue(bus, "back"), soon);
    await vi.waitFor(() => expect(handled).toEqual(["back"]), soon);
    expect(heard).not.toHaveBeenCalled();
    await vi.waitFor(() => {
      bus.publish(subjects.ready("task"), new Uint8Array(2));
      expect(heard).toHaveBeenCalled();
    }, soon);
  });
});
