import { newId } from "@drover/kernel";
import type { SpanEnd, SpanStart, Tracer } from "@drover/tracing";
import { noopTracer } from "@drover/tracing";
import { expect, test } from "vitest";
import { FakeRecord } from "../../test/fake-record.ts";
import type { Task } from "../domain/task.ts";
import type { TaskSignals } from "./ports.ts";
import { tellEnd } from "./tell-end.ts";

const by = { actor: "claimer", reason: "DEAD_LETTER", input: "claimed_in_vain" };

function told(task: Task) {
  const signals: unknown[][] = [];
  const spans: { readonly start: SpanStart; readonly said: unknown[]; ends: (SpanEnd | undefined)[] }[] = [];
  const tracer: Tracer = {
    ...noopTracer,
    start: (start) => {
      const span = { start, said: [] as unknown[], ends: [] as (SpanEnd | undefined)[] };
      spans.push(span);
      return {
        ...noopTracer.start(start),
        event: (...event) => void span.said.push(event),
        end: (end) => void span.ends.push(end),
      };
    },
  };
  const committed: TaskSignals["committed"] = (...signal) => void signals.push(signal);
  tellEnd({ signals: { committed }, tracer }, task, by);
  return { signals, spans };
}

const failed: Task = {
  ...new FakeRecord().task,
  ...{
    id: newId(),
    state: "FAILED",
    failureReason: "DEAD_LETTER",
    failureMessage: "Claimed too often.",
    lastSequence: 9,
  },
};

test("watchers hear how far the log goes, and the task's own span ends with why", () => {
  const { signals, spans } = told(failed);
  expect(signals).toEqual([["acme", failed.id, 9]]);
  expect(spans).toHaveLength(1);
  expect(spans[0]?.start).toMatchObject({ tenant: "acme", kind: "task", taskId: failed.id });
  expect(spans[0]?.start.identity?.traceId).toBe(failed.traceId);
  expect(JSON.stringify(spans[0]?.said)).toMatch(/state_changed.*FAILED.*claimer.*DEAD_LETTER/);
  expect(spans[0]?.ends).toMatchObject([{ error: "DEAD_LETTER: Claimed too often." }]);
});

test("the span is the same for everybody who tells of the task", () => {
  const ids = [failed, { ...failed, state: "CANCELLED" as const }].map((task) => told(task).spans[0]?.start.identity);
  expect(ids[0]).toEqual(ids[1]);
});

test("a task that was resumed meanwhile is told to its watchers, and its span stays open", () => {
  for (const state of ["RUNNING", "WAITING_APPROVAL", "VERIFYING"] as const) {
    const { signals, spans } = told({ ...failed, state });
    expect(signals).toEqual([["acme", failed.id, 9]]);
    expect(spans).toEqual([]);
  }
});
