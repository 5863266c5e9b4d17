import { attr, noopTracer, type Span, type Tracer } from "@drover/tracing";
import fc from "fast-check";
import { expect, test } from "vitest";
import { claim, echo, FakeRecord, partsOf } from "../../test/fake-record.ts";
import type { Step } from "../domain/step.ts";
import { RunControl } from "./run-control.ts";
import { runTask } from "./run-task.ts";
import type { Tool } from "./tool-ports.ts";

test("a round is three commits: the turn with its intents, dispatched, the results in call order", async () => {
  const record = new FakeRecord();
  const slowFirst: Tool["execute"] = async (args, context, signal) => {
    if (Number(args.n) % 2 === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    return echo(args, context, signal);
  };
  expect(await runTask(partsOf(record, slowFirst), claim, new RunControl())).toBe("ended");
  const parts = record.changes.map((change) =>
    Object.keys(change).filter((key) => !["events", "usage", "round", "rules", "toolCalls"].includes(key)),
  );
  const round = [["steps", "intents"], ["dispatched"], ["results", "steps"]];
  expect(parts).toEqual([
    ["state"],
    ...round,
    ...round,
    ["steps", "answer", "state"],
    ["steps", "verification", "reworks"],
    ["state"],
  ]);
  expect(record.task).toMatchObject({ state: "SUCCEEDED", answer: "OK: 0,OK: 1,OK: 2,OK: 3", round: 3 });
  expect(record.task.usage.inputTokens).toBe(9);
});

test("the trace hears of every transition when it was written", async () => {
  const record = new FakeRecord();
  const told: string[] = [];
  const tracer: Tracer = {
    ...noopTracer,
    start(start) {
      const span = noopTracer.start(start);
      const event: Span["event"] = (kind, { attributes } = {}) => {
        if (kind === "state_changed") told.push(`${attributes?.[attr.taskStateFrom]} ${attributes?.[attr.taskState]}`);
      };
      return start.kind === "task" ? { ...span, event } : span;
    },
  };
  await runTask({ ...partsOf(record, echo), tracer }, claim, new RunControl());
  expect(told).toEqual(["CREATED RUNNING", "RUNNING VERIFYING", "VERIFYING SUCCEEDED"]);
});

test("lost at any commit, written or not, the next owner ends the task with the same answer and no call changes its id", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.record({ commit: fc.nat(10), written: fc.boolean() }), { maxLength: 4 }),
      async (losses) => {
        const record = new FakeRecord();
        const ids = new Map<unknown, Set<string>>();
        const execute: Tool["execute"] = async (args, context, signal) => {
          ids.set(args.n, (ids.get(args.n) ?? new Set()).add(context.callId));
          return echo(args, context, signal);
        };
        for (const loss of losses) {
          record.loseAt = loss;
          await runTask(partsOf(record, execute), claim, new RunControl());
        }
        record.loseAt = undefined;
        await runTask(partsOf(record, execute), claim, new RunControl());
        expect(record.task).toMatchObject({ state: "SUCCEEDED", answer: "OK: 0,OK: 1,OK: 2,OK: 3" });
        expect([...ids.values()].every((set) => set.size === 1)).toBe(true);
        expect(record.log.steps.map((step: Step) => step.seq)).toEqual(record.log.steps.map((_, i) => i + 1));
      },
    ),
    { numRuns: 60 },
  );
});

test("after a lost lease nothing is written any more", async () => {
  const record = new FakeRecord();
  const control = new RunControl();
  const execute: Tool["execute"] = async (args, context, signal) => {
    control.loseLease();
    return echo(args, context, signal);
  };
  expect(await runTask(partsOf(record, execute), claim, control)).toBe("give_back");
  expect(record.changes.at(-1)?.dispatched).toHaveLength(2);
  expect(record.task.state).toBe("RUNNING");
});

test("a cancel keeps the results that are there and gives every other call one", async () => {
  const record = new FakeRecord();
  const control = new RunControl();
  const execute: Tool["execute"] = async (args, context, signal) => {
    if (args.n === 0) return echo(args, context, signal);
    control.cancel();
    return await new Promise((_, reject) => {
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      if (signal.aborted) reject(signal.reason);
    });
  };
  expect(await runTask(partsOf(record, execute), claim, control)).toBe("ended");
  expect(record.task.state).toBe("CANCELLED");
  expect(record.changes.at(-1)?.results?.map((result) => result.state)).toEqual(["SUCCEEDED", "CANCELLED"]);
  expect(record.log.calls.map((call) => call.state)).toEqual(["SUCCEEDED", "CANCELLED"]);
});

test("a drain gives the task back after the step at hand", async () => {
  const record = new FakeRecord();
  const control = new RunControl();
  const execute: Tool["execute"] = async (args, context, signal) => {
    control.drain();
    return echo(args, context, signal);
  };
  expect(await runTask(partsOf(record, execute), claim, control)).toBe("give_back");
  expect(record.changes.at(-1)?.results).toHaveLength(2);
});
