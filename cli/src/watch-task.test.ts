import { create } from "@bufbuild/protobuf";
import { DroverError } from "@drover/kernel";
import { type WatchTaskResponse, WatchTaskResponseSchema } from "@drover/proto/orchestrator/v1/task_service";
import { expect, test } from "vitest";
import { type TaskListener, watchTask } from "./watch-task.ts";

const event = (sequence: bigint) =>
  create(WatchTaskResponseSchema, { message: { case: "event", value: { sequence } } });

/** Each watch gives what stands for it: events by sequence, then the error. */
function fakeTasks(streams: readonly { readonly events: readonly bigint[]; readonly error?: DroverError }[]) {
  const asked: bigint[] = [];
  const watch = async function* (after: bigint): AsyncGenerator<WatchTaskResponse> {
    const stream = streams[asked.push(after) - 1];
    for (const sequence of stream?.events ?? []) yield event(sequence);
    if (stream?.error !== undefined) throw stream.error;
  };
  return { asked, tasks: { watchTask: (request: { afterSequence?: bigint }) => watch(request.afterSequence ?? 0n) } };
}

function listener(): { heard: bigint[]; waits: number[]; all: TaskListener } {
  const heard: bigint[] = [];
  const waits: number[] = [];
  const all: TaskListener = {
    event: ({ sequence }) => void heard.push(sequence),
    delta() {},
    interrupted: (_, waitMs) => void waits.push(waitMs),
  };
  return { heard, waits, all };
}

const gone = new DroverError("UNAVAILABLE", "gone");
const watched = { taskId: "t", after: 0n, deltas: false };
const { signal } = new AbortController();

test("breaks are resumed without gap or repeat, and progress starts the waits anew", async () => {
  const { asked, tasks } = fakeTasks([
    { events: [1n, 2n], error: gone },
    { events: [], error: gone },
    { events: [2n, 3n], error: gone },
    { events: [4n] },
  ]);
  const { heard, waits, all } = listener();
  await watchTask(tasks, watched, all, signal, [1, 2]);
  expect({ heard, asked, waits }).toEqual({ heard: [1n, 2n, 3n, 4n], asked: [0n, 2n, 2n, 3n], waits: [1, 2, 1] });
});

test("patience ends, and other errors are not retried", async () => {
  const { asked, tasks } = fakeTasks(Array(9).fill({ events: [], error: gone }));
  await expect(watchTask(tasks, watched, listener().all, signal, [1, 1])).rejects.toThrow(gone);
  expect(asked).toHaveLength(3);
  const missing = fakeTasks([{ events: [], error: new DroverError("NOT_FOUND", "no") }]);
  await expect(watchTask(missing.tasks, watched, listener().all, signal)).rejects.toThrow("no");
  expect(missing.asked).toHaveLength(1);
});

test("Ctrl-C ends a wait at once", async () => {
  const interrupt = new AbortController();
  const { tasks } = fakeTasks([{ events: [], error: gone }]);
  const all = { ...listener().all, interrupted: () => interrupt.abort() };
  await expect(watchTask(tasks, watched, all, interrupt.signal, [60_000])).rejects.toMatchObject({ code: "CANCELLED" });
});
