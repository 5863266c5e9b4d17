import { DroverError } from "@drover/kernel";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { type Bus, maxMessageBytes, patterns, type QueuedMessage, type Subject, subjects } from "../src/index.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (data: Uint8Array) => new TextDecoder().decode(data);
const soon = { timeout: 15_000, interval: 10 };

/** What every bus must do. `connect` gives a new connection to the same bus; the queue is empty before each test. */
export function busContract(connect: () => Promise<Bus>): void {
  let bus: Bus;
  let serial = 0;
  const unique = (name: string) => `${name}-${process.pid}-${++serial}`;
  const enqueue = (name: string, id = unique("id")) => bus.enqueue(subjects.trace("t", "trace"), bytes(name), id);

  beforeEach(async () => {
    bus = await connect();
  });
  afterEach(() => bus[Symbol.asyncDispose]());

  describe("publish and subscribe", () => {
    test("every subscriber hears a message, in order, with its tokens", async () => {
      const task = unique("task");
      const heard: string[][] = [[], [], []];
      const hear = (index: number) => (message: { tokens: readonly string[]; data: Uint8Array }) =>
        void heard[index]?.push(`${message.tokens.join("/")}:${text(message.data)}`);
      const subscriptions = [
        bus.subscribe(patterns.allCancels(), hear(0)),
        bus.subscribe(patterns.allCancels(), hear(1)),
        bus.subscribe(patterns.cancel("t1", task), hear(2)),
      ];
      await Promise.all(subscriptions.map(({ ready }) => ready));
      for (let n = 0; n < 20; n++) bus.publish(subjects.cancel("t1", task), bytes(String(n)));
      const expected = Array.from({ length: 20 }, (_, n) => `t1/${task}:${n}`);
      await vi.waitFor(() => expect(heard).toEqual([expected, expected, expected]), soon);
      await Promise.all(subscriptions.map((it) => it[Symbol.asyncDispose]()));
    });

    test("another tenant's messages are not heard, nor is anything after disposal", async () => {
      const heard: string[] = [];
      const subscription = bus.subscribe(patterns.event("t1", "task"), ({ data }) => void heard.push(text(data)));
      const last = Promise.withResolvers<void>();
      const witness = bus.subscribe(patterns.event("t1", "end"), () => last.resolve());
      await Promise.all([subscription.ready, witness.ready]);
      bus.publish(subjects.event("t2", "task"), bytes("foreign"));
      bus.publish(subjects.delta("t1", "task"), bytes("other kind"));
      bus.publish(subjects.event("t1", "task"), bytes("own"));
      await vi.waitFor(() => expect(heard).toEqual(["own"]), soon);
      await subscription[Symbol.asyncDispose]();
      bus.publish(subjects.event("t1", "task"), bytes("late"));
      bus.publish(subjects.event("t1", "end"), bytes(""));
      await last.promise;
      expect(heard).toEqual(["own"]);
    });

    test("a handler that throws stops neither the others nor itself", async () => {
      const heard: string[] = [];
      const broken = bus.subscribe(patterns.ready("task"), () => {
        heard.push("broken");
        throw new Error("broken handler");
      });
      const sound = bus.subscribe(patterns.ready("task"), () => void heard.push("sound"));
      await Promise.all([broken.ready, sound.ready]);
      bus.publish(subjects.ready("task"), bytes("1"));
      bus.publish(subjects.ready("task"), bytes("2"));
      await vi.waitFor(() => expect(heard.sort()).toEqual(["broken", "broken", "sound", "sound"]), soon);
    });

    test("the publisher may use its buffer again at once", async () => {
      const heard: string[] = [];
      const subscription = bus.subscribe(patterns.ready("copy"), ({ data }) => void heard.push(text(data)));
      await subscription.ready;
      const buffer = bytes("first");
      bus.publish(subjects.ready("copy"), buffer);
      buffer.fill(0x78);
      await vi.waitFor(() => expect(heard).toEqual(["first"]), soon);
    });
  });

  describe("what is refused", () => {
    const tooLarge = new Uint8Array(maxMessageBytes + 1);
    const refused = expect.objectContaining({ code: "INVALID_ARGUMENT" });

    test("a message over 256 KB; one of exactly that passes", async () => {
      expect(() => bus.publish(subjects.ready("task"), tooLarge)).toThrow(refused);
      await expect(bus.enqueue(subjects.trace("t", "a"), tooLarge, "id")).rejects.toThrow(refused);
      const handled = await collect(1, () => bus.enqueue(subjects.trace("t", "a"), tooLarge.subarray(1), unique("id")));
      expect(handled[0]?.data.byteLength).toBe(maxMessageBytes);
    });

    test("a subject that is not the queue's, and a message id that is no header value", async () => {
      await expect(bus.enqueue(subjects.ready("task"), bytes(""), "id")).rejects.toThrow(refused);
      for (const id of ["", "a b", "a\r\nb", "x".repeat(257)]) {
        await expect(bus.enqueue(subjects.trace("t", "a"), bytes(""), id)).rejects.toThrow(refused);
      }
    });
  });

  /** Consumes until `count` messages were handled. */
  async function collect(count: number, produce: () => Promise<unknown>, batchSize = 64): Promise<QueuedMessage[]> {
    const handled: QueuedMessage[] = [];
    await using consumer = bus.consume({ batchSize, handler: async (batch) => void handled.push(...batch) });
    await consumer.ready;
    await produce();
    await vi.waitFor(() => expect(handled.length).toBeGreaterThanOrEqual(count), soon);
    return handled;
  }

  describe("the work queue", () => {
    test("keeps order and hands out batches of at most the asked size", async () => {
      for (let n = 0; n < 50; n++) await enqueue(String(n));
      const sizes: number[] = [];
      const order: string[] = [];
      await using _consumer = bus.consume({
        batchSize: 8,
        handler: async (batch) => {
          sizes.push(batch.length);
          order.push(...batch.map(({ data }) => text(data)));
        },
      });
      await vi.waitFor(() => expect(order).toEqual(Array.from({ length: 50 }, (_, n) => String(n))), soon);
      expect(Math.max(...sizes)).toBeLessThanOrEqual(8);
      expect(sizes.length).toBeLessThan(50);
    });

    test("drops a message whose id it has seen, also after the first was handled", async () => {
      const id = unique("same");
      await enqueue("once", id);
      await enqueue("once", id);
      const handled = await collect(2, async () => {
        await enqueue("once", id);
        await enqueue("end");
      });
      expect(handled.map(({ data }) => text(data))).toEqual(["once", "end"]);
    });

    test("delivers to one of several consumers", async () => {
      const other = await connect();
      const handled: string[] = [];
      const handler = async (batch: readonly QueuedMessage[]) =>
        void handled.push(...batch.map(({ data }) => text(data)));
      const consumers = [bus.consume({ handler }), other.consume({ handler })];
      for (let n = 0; n < 30; n++) await enqueue(String(n));
      await vi.waitFor(() => expect(handled.length).toBeGreaterThanOrEqual(30), soon);
      expect(handled.map(Number).sort((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n));
      await Promise.all(consumers.map((it) => it[Symbol.asyncDispose]()));
      await other[Symbol.asyncDispose]();
    });

    test("tries the whole batch again after a retryable error, and loses nothing", async () => {
      let failures = 8;
      const handled: string[] = [];
      const buried = vi.fn();
      for (const name of ["a", "b", "c"]) await enqueue(name);
      await using _consumer = bus.consume({
        maxDeliveries: 2,
        retryDelayMs: 1,
        onBuried: buried,
        handler: async (batch) => {
          if (failures-- > 0) throw new DroverError("UNAVAILABLE", "The database is not available.");
          handled.push(...batch.map(({ data }) => text(data)));
        },
      });
      await vi.waitFor(() => expect(handled).toEqual(["a", "b", "c"]), soon);
      expect(buried).not.toHaveBeenCalled();
    });

    test("buries a message that fails by itself after its attempts, and the others go on", async () => {
      const handled: string[] = [];
      const attempts: number[] = [];
      const buried: [string, unknown][] = [];
      for (const name of ["a", "poison", "b"]) await enqueue(name);
      await using _consumer = bus.consume({
        maxDeliveries: 3,
        retryDelayMs: 5,
        onBuried: (message, error) => void buried.push([text(message.data), error]),
        handler: async (batch) => {
          const bad = batch.find(({ data }) => text(data) === "poison");
          if (bad !== undefined && batch.length === 1) attempts.push(bad.deliveries);
          if (bad !== undefined) throw new Error("cannot read this");
          handled.push(...batch.map(({ data }) => text(data)));
        },
      });
      await vi.waitFor(() => expect(buried).toEqual([["poison", new Error("cannot read this")]]), soon);
      await enqueue("after");
      await vi.waitFor(() => expect(handled).toEqual(["a", "b", "after"]), soon);
      expect(new Set(attempts)).toEqual(new Set([1, 2, 3]));
    });

    test("gives what a stopped consumer had not acknowledged to the next one", async () => {
      const entered = Promise.withResolvers<void>();
      const first = bus.consume({
        retryDelayMs: 60_000,
        handler: async () => {
          entered.resolve();
          throw new DroverError("UNAVAILABLE", "The database is not available.");
        },
      });
      await enqueue("kept");
      await entered.promise;
      await first[Symbol.asyncDispose]();
      const handled = await collect(1, async () => {});
      expect(handled.map(({ data }) => text(data))).toEqual(["kept"]);
    });
  });

  test("is healthy while it is open, and refuses work afterwards", async () => {
    const own = await connect();
    expect(own.healthy()).toBe(true);
    await own[Symbol.asyncDispose]();
    expect(own.healthy()).toBe(false);
    own.publish(subjects.ready("task"), bytes("unheard"));
    await expect(own.enqueue(subjects.trace("t", "a") as Subject, bytes(""), "id")).rejects.toMatchObject({
      code: "UNAVAILABLE",
    });
  });
}
