import { systemClock } from "@drover/kernel";
import { expect, test, vi } from "vitest";
import type { Task } from "../domain/task.ts";
import type { TaskEvent, TaskEventBody } from "../domain/task-event.ts";
import type { Delta, TaskSignals } from "./ports.ts";
import { TaskHubs } from "./task-hub.ts";
import { type WatchMessage, watchTask } from "./watch-task.ts";

const taskId = "0197a0a0-0000-7000-8000-000000000000";
type Listener = Parameters<TaskSignals["follow"]>[2];

/** A log that grows by hand, with or without telling. */
function setUp(pollMs = 60_000) {
  const log: TaskEvent[] = [];
  const listeners = new Set<Listener>();
  const add = (body: Partial<TaskEventBody> & { type: TaskEventBody["type"] }, hint = true) => {
    log.push({ taskId, sequence: log.length + 1, round: 1, time: new Date(0), body: body as TaskEventBody });
    if (hint) for (const listener of listeners) listener.onHint(log.length);
  };
  const events = vi.fn(async (_tenant: string, _id: string, after: number, limit: number) =>
    log.filter(({ sequence }) => sequence > after && sequence >= kept.first).slice(0, limit),
  );
  const kept = { first: 1 };
  // Of a task a watch looks at no more.
  const get = async () => {
    const state = log.at(-1)?.body.type === "task_completed" ? "FAILED" : "RUNNING";
    return { id: taskId, state, lastSequence: log.length, firstSequence: kept.first } as Task;
  };
  const store = { events, get };
  const signals = {
    follow: (_tenant: string, _id: string, listener: Listener) => {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
  };
  const hubs = new TaskHubs({ store, signals, clock: systemClock, pollMs, onFault: () => undefined });
  const parts = { store, hubs, clock: systemClock, heartbeatMs: 60_000 };
  const watch = (includeDeltas = false, signal = new AbortController().signal, afterSequence = 0) =>
    watchTask(parts, "acme", { taskId, afterSequence, includeDeltas }, signal);
  const delta = (given: Partial<Delta>) => {
    for (const listener of listeners) {
      listener.onDelta({ taskId, step: 1, channel: "text", offset: 0, text: "x", ...given });
    }
  };
  return { add, delta, events, watch, hubs, listeners, kept };
}

async function sequencesOf(watch: AsyncIterable<WatchMessage>): Promise<number[]> {
  const sequences: number[] = [];
  for await (const message of watch) if (message.kind === "event") sequences.push(message.event.sequence);
  return sequences;
}

test("many watchers of one task cost one read a hint", async () => {
  const { add, events, watch, hubs, listeners } = setUp();
  add({ type: "status_changed" });
  const watches = Array.from({ length: 50 }, () => sequencesOf(watch()));
  await expect.poll(() => hubs.watchers).toBe(50);
  await new Promise((resolve) => setTimeout(resolve, 10));
  const before = events.mock.calls.length;
  add({ type: "status_changed" });
  await new Promise((resolve) => setTimeout(resolve, 10));
  expect(events.mock.calls.length - before).toBe(1);
  add({ type: "task_completed" });
  for (const sequences of await Promise.all(watches)) expect(sequences).toEqual([1, 2, 3]);
  expect([hubs.watchers, listeners.size]).toEqual([0, 0]);
});

test("a lost hint is made up for by the poll", async () => {
  const { add, watch } = setUp(10);
  const watched = sequencesOf(watch());
  add({ type: "status_changed" }, false);
  add({ type: "task_completed" }, false);
  expect(await watched).toEqual([1, 2]);
});

test("a reader that falls far behind reads the rest from the record, in order", async () => {
  const { add, watch } = setUp();
  const slow = watch();
  expect((await slow.next()).value).toEqual({ kind: "heartbeat", sequence: 0 });
  const reading = slow.next();
  for (let i = 0; i < 700; i++) add({ type: "status_changed" });
  await reading;
  await new Promise((resolve) => setTimeout(resolve, 20));
  add({ type: "task_completed" });
  const sequences = await sequencesOf(slow);
  expect(sequences).toEqual(Array.from({ length: 700 }, (_, i) => i + 2));
});

test("deltas that wait too long are dropped", async () => {
  const { add, delta, watch } = setUp();
  const watching = watch(true);
  await watching.next();
  const next = watching.next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  for (let offset = 0; offset < 1_000; offset++) delta({ offset });
  const messages = [(await next).value];
  for (let read = 1; read < 256; read++) messages.push((await watching.next()).value);
  expect(messages.every((message) => message?.kind === "delta")).toBe(true);
  const after = watching.next();
  add({ type: "task_completed" });
  expect((await after).value).toMatchObject({ kind: "event", event: { sequence: 1 } });
});

test("a delta that comes after the message of its step is not sent", async () => {
  const { add, delta, watch } = setUp();
  const watching = watch(true);
  await watching.next();
  const next = watching.next();
  await new Promise((resolve) => setTimeout(resolve, 5));
  add({ type: "assistant_message", step: 1 });
  expect((await next).value).toMatchObject({ kind: "event", event: { sequence: 1 } });
  const after = watching.next();
  delta({ step: 1, text: "stale" });
  delta({ step: 2, text: "fresh" });
  expect((await after).value).toMatchObject({ kind: "delta", delta: { text: "fresh" } });
  await watching.return();
});

test("an aborted watch ends, and closing ends the others with UNAVAILABLE", async () => {
  const { watch, hubs } = setUp();
  const stop = new AbortController();
  const aborted = sequencesOf(watch(false, stop.signal));
  const open = sequencesOf(watch());
  await expect.poll(() => hubs.watchers).toBe(2);
  stop.abort();
  expect(await aborted).toEqual([]);
  const outcome = expect(open).rejects.toMatchObject({ code: "UNAVAILABLE", reason: "DRAINING" });
  await hubs[Symbol.asyncDispose]();
  await outcome;
});

test("an end that was followed by a resumption is no end of the watch", async () => {
  const { add, watch } = setUp();
  add({ type: "status_changed" });
  add({ type: "task_completed" });
  add({ type: "status_changed" });
  const sequences = sequencesOf(watch());
  await new Promise((resolve) => setTimeout(resolve, 10));
  add({ type: "assistant_message", step: 1 });
  add({ type: "task_completed" });
  expect(await sequences).toEqual([1, 2, 3, 4, 5]);
});

test("a resumption that comes with a lost hint is found before the watch ends", async () => {
  const { add, watch } = setUp(20);
  add({ type: "status_changed" });
  const sequences: number[] = [];
  for await (const message of watch()) {
    if (message.kind !== "event") continue;
    sequences.push(message.event.sequence);
    if (message.event.sequence === 1) add({ type: "task_completed" });
    // Between the event and the look whether it is the last.
    if (message.event.sequence === 2) add({ type: "status_changed" }, false);
    if (message.event.sequence === 3) add({ type: "task_completed" }, false);
  }
  expect(sequences).toEqual([1, 2, 3, 4]);
});

test("what is no longer kept is replaced by the task as it is, at the beginning and in the middle", async () => {
  const { add, watch, kept } = setUp();
  for (let i = 0; i < 6; i++) add({ type: "status_changed" });
  kept.first = 3;
  const messages: string[] = [];
  for await (const message of watch()) {
    if (message.kind === "event") messages.push(`event ${message.event.sequence}`);
    if (message.kind === "reset") messages.push(`reset ${message.task.id === taskId} ${message.sequence}`);
    if (messages.length === 1) {
      kept.first = 6;
      add({ type: "task_completed" });
    }
  }
  expect(messages).toEqual(["reset true 2", "reset true 5", "event 6", "event 7"]);
});

test("one who knows the oldest event that is kept is not reset", async () => {
  const { add, watch, kept } = setUp();
  for (let i = 0; i < 3; i++) add({ type: "status_changed" });
  add({ type: "task_completed" });
  kept.first = 3;
  const kinds: string[] = [];
  for await (const message of watch(false, undefined, 2)) kinds.push(message.kind);
  expect(kinds).toEqual(["heartbeat", "event", "event"]);
});
