import { DroverError } from "@drover/kernel";
import { fakeClock } from "@drover/testkit";
import { noopTracer } from "@drover/tracing";
import { expect, test, vi } from "vitest";
import { FakeRecord } from "../../test/fake-record.ts";
import type { AfterTaskClaim, AfterTaskEnd, ExtractionReport } from "./after-task-ports.ts";
import { waitAfter, workAfterTasks } from "./after-tasks.ts";

const { task } = new FakeRecord();
const ended = { ...task, state: "SUCCEEDED" } as const;

function start(
  extract: (signal: AbortSignal) => Promise<ExtractionReport>,
  attempt = 1,
  found: typeof task | "gone" = ended,
) {
  const due: AfterTaskClaim[] = [{ tenant: task.tenant, taskId: task.id, epoch: 3, attempt }];
  const finished: AfterTaskEnd[] = [];
  const retried: number[] = [];
  const work = workAfterTasks({
    after: {
      claim: async () => due.splice(0, 1),
      finish: async (_, end) => finished.push(end) > 0,
      retry: async (_, delayMs) => void retried.push(delayMs),
    },
    store: { get: async () => (found === "gone" ? undefined : found) },
    facts: { extract: (_scope, _task, signal) => extract(signal) },
    ...{ tracer: noopTracer, clock: fakeClock(), onFault: (fault) => expect.unreachable(String(fault)) },
    ...{ parallel: 1, pollMs: 1_000, timeoutMs: 60_000, attempts: 3, backoffMs: 100 },
  });
  return { work, finished, retried, due };
}

const report: ExtractionReport = { outcome: "EXTRACTED", words: "", usage: undefined };
const fails = (code: "UNAVAILABLE" | "NOT_FOUND" | "INVALID_ARGUMENT") => async () => {
  throw new DroverError(code, "no");
};

test("what is due is done and recorded", async () => {
  const { work, finished } = start(async () => report);
  await vi.waitUntil(() => finished.length === 1);
  await work[Symbol.asyncDispose]();
  expect(finished).toEqual([{ state: "DONE", outcome: "EXTRACTED", problem: "", usage: undefined }]);
});

test.each([
  ["UNAVAILABLE", 1, [100], []],
  ["UNAVAILABLE", 2, [200], []],
  ["UNAVAILABLE", 3, [], ["GIVEN_UP"]],
  ["INVALID_ARGUMENT", 1, [], ["GIVEN_UP"]],
  ["NOT_FOUND", 1, [], ["DONE"]],
] as const)("%s in try %i", async (code, attempt, waits, ends) => {
  const { work, finished, retried } = start(fails(code), attempt);
  await vi.waitUntil(() => finished.length + retried.length === 1);
  await work[Symbol.asyncDispose]();
  expect([retried, finished.map(({ state }) => state)]).toEqual([waits, ends]);
});

test("a shutdown gives back what is at hand", async () => {
  const begun = Promise.withResolvers<void>();
  const { work, retried, finished } = start(
    (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener("abort", () => reject(new DroverError("CANCELLED", "over")), { once: true });
        begun.resolve();
      }),
  );
  await begun.promise;
  await work[Symbol.asyncDispose]();
  expect([retried, finished]).toEqual([[0], []]);
});

test("a task that goes on, or is gone, is not told", async () => {
  for (const found of [{ ...task, state: "RUNNING" } as const, "gone" as const]) {
    const { work, due, finished, retried } = start(async () => expect.unreachable("it was told"), 1, found);
    await vi.waitUntil(() => due.length === 0);
    await work[Symbol.asyncDispose]();
    expect([finished, retried]).toEqual([[], []]);
  }
});

test("waits double, up to ten minutes", () => {
  expect([1, 2, 3, 60].map((attempt) => waitAfter(attempt, 5_000))).toEqual([5_000, 10_000, 20_000, 600_000]);
});
