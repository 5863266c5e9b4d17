import { DroverError } from "@drover/kernel";
import type { WatchTaskResponse } from "@drover/proto/orchestrator/v1/task_service";
import { callsScript, echoScript, type Script } from "@drover/testkit/scripted-model";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, eventsOf, type Harness, type Replica, startHarness, submit, until } from "./harness.ts";

let harness: Harness;
let replica: Replica;
beforeAll(async () => {
  harness = await startHarness();
  replica = await harness.orchestrator({ DROVER_WATCH_HEARTBEAT_MS: "300" });
});
afterAll(async () => {
  await replica?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

const code = (text: string) => ({ name: "run_code", arguments: { language: "python", code: text } });
const rounds =
  (count: number, ms: number): Script =>
  (messages) =>
    messages.filter((m) => m.role === "tool").length < count
      ? { text: "thinking aloud about it ", toolCalls: [code(`sleep ${ms}`)] }
      : { text: "finished" };

type Case = NonNullable<WatchTaskResponse["message"]>;

async function* watch(
  taskId: string,
  after: bigint,
  signal?: AbortSignal,
  includeDeltas = false,
): AsyncGenerator<Case> {
  const options = { ...replica.as("acme"), ...(signal === undefined ? {} : { signal }) };
  const request = { taskId, afterSequence: after, includeDeltas };
  for await (const { message } of replica.client.watchTask(request, options)) yield message;
}

test("cut at random points and resumed, a watch has no gap and no duplicate", async () => {
  harness.model.use(rounds(4, 20));
  await fc.assert(
    fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 6 }), async (cuts) => {
      const { id } = await submit(replica, "acme", "Cut");
      const seen: bigint[] = [];
      for (const cut of [...cuts, Number.POSITIVE_INFINITY]) {
        let left = cut;
        for await (const message of watch(id, seen.at(-1) ?? 0n)) {
          if (message.case === "event") {
            seen.push(message.value.sequence);
            left--;
          }
          if (left <= 0) break;
        }
      }
      const all = await eventsOf(replica, "acme", id);
      expect(seen).toEqual(all.map((event) => event.sequence));
    }),
    { numRuns: 6 },
  );
});

test("the first message is a heartbeat, and silence is filled with more", async () => {
  harness.model.use(() => ({ text: "late", delayMs: 1_000 }));
  const { id } = await submit(replica, "acme", "Quiet");
  const cases: string[] = [];
  for await (const message of watch(id, 0n)) cases.push(String(message.case));
  expect(cases[0]).toBe("heartbeat");
  expect(cases.filter((name) => name === "heartbeat").length).toBeGreaterThanOrEqual(3);
});

test("deltas come before the durable message of their step and add up to it", async () => {
  const text = `${"many words come one after the other ".repeat(8)}end`;
  harness.model.use(() => ({ text, delayMs: 200, chunkDelayMs: 15 }));
  const { id } = await submit(replica, "acme", "Stream");
  let streamed = "";
  let durable = "";
  for await (const message of watch(id, 0n, undefined, true)) {
    if (message.case === "delta") {
      expect(durable).toBe("");
      expect(message.value.offset).toBe(BigInt(streamed.length));
      streamed += message.value.text;
    }
    if (message.case === "event" && message.value.event.case === "assistantMessage")
      durable = message.value.event.value.text;
  }
  expect(durable).toBe(text);
  expect(streamed.length).toBeGreaterThan(100);
  expect(durable.startsWith(streamed)).toBe(true);
});

test("two hundred watchers all get everything, and a unary call does not wait for them", async () => {
  // The task ends when it is cancelled, and the watches not before.
  harness.model.use((messages) => ({
    toolCalls: [code(messages.filter((m) => m.role === "tool").length < 3 ? "sleep 100" : "sleep 600000")],
  }));
  const before = harness.peers.begun.length;
  const { id } = await submit(replica, "acme", "Crowd");
  const logs = Array.from({ length: 200 }, (): bigint[] => []);
  const watchers = logs.map(async (log) => {
    for await (const message of watch(id, 0n)) if (message.case === "event") log.push(message.value.sequence);
  });
  await until(() => logs.every((log) => log.length > 0) && harness.peers.begun.length === before + 4);
  for (let i = 0; i < 20; i++) await replica.client.getTask({ taskId: id }, replica.as("acme"));
  await replica.client.cancelTask({ taskId: id }, replica.as("acme"));
  await Promise.all(watchers);
  const whole = await eventsOf(replica, "acme", id);
  for (const log of logs) expect(log).toEqual(whole.map((event) => event.sequence));
});

test("a reader that does not read holds up nobody", async () => {
  harness.model.use(callsScript([code("print one")]));
  const { id } = await submit(replica, "acme", "Slow");
  const stop = new AbortController();
  const sleepy = watch(id, 0n, stop.signal, true);
  await sleepy.next();
  await ended(replica, "acme", id);
  stop.abort();
  await sleepy.next().catch(() => undefined);
});

test("when the server goes, watches end with UNAVAILABLE and can be resumed elsewhere", async () => {
  harness.model.use(() => ({ text: "later", delayMs: 1_500 }));
  const leaving = await harness.orchestrator();
  const { id } = await submit(leaving, "acme", "Move");
  const seen: bigint[] = [];
  const watching = (async () => {
    for await (const { message } of leaving.client.watchTask({ taskId: id }, leaving.as("acme"))) {
      if (message.case === "event") seen.push(message.value.sequence);
    }
  })();
  await until(() => seen.length > 0);
  const outcome = watching.catch((error: unknown) => error);
  harness.model.use(echoScript);
  await leaving.service[Symbol.asyncDispose]();
  const error = await outcome;
  expect(error).toBeInstanceOf(DroverError);
  expect((error as DroverError).code).toBe("UNAVAILABLE");
  await leaving[Symbol.asyncDispose]();
  const rest = await eventsOf(replica, "acme", id, seen.at(-1) ?? 0n);
  expect(rest[0]?.sequence).toBe((seen.at(-1) ?? 0n) + 1n);
  expect(rest.at(-1)?.event.case).toBe("taskCompleted");
});
