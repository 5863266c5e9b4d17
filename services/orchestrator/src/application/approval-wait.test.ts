import { newId, systemClock } from "@drover/kernel";
import { attr, noopTracer, type SpanEnd, type SpanStart, type Tracer } from "@drover/tracing";
import { expect, test, vi } from "vitest";
import { beginWait, endWait } from "./approval-wait.ts";
import type { Approval, Settled } from "./decision-ports.ts";
import { expireApprovals } from "./expire-approvals.ts";
import type { TaskSignals } from "./ports.ts";

const wait = {
  tenant: "acme",
  taskId: newId(),
  traceId: "a".repeat(32),
  approvalId: newId(),
  callId: newId(),
  tool: "bash",
};

class Recorder {
  readonly started: SpanStart[] = [];
  readonly ended: SpanEnd[] = [];
  released = 0;

  readonly tracer: Tracer = {
    ...noopTracer,
    start: (start) => {
      this.started.push(start);
      const end = (options: SpanEnd = {}) => void this.ended.push(options);
      return { ...noopTracer.start(start), end, release: () => void this.released++ };
    },
  };
}

test("whoever ends a wait takes up the span that another process began", () => {
  const recorder = new Recorder();
  const { tracer, started, ended } = recorder;
  const before = Date.now();
  beginWait(tracer, wait, "the policy careful");
  expect([recorder.released, ended.length]).toEqual([1, 0]);
  endWait(tracer, wait, { decision: "denied", actor: "bob", comment: "not today" });
  expect(started[1]).toEqual(started[0]);
  expect(started[0]).toMatchObject({ kind: "wait", identity: { traceId: wait.traceId }, taskId: wait.taskId });
  expect(Math.abs((started[0]?.startedAt?.getTime() ?? 0) - before)).toBeLessThan(60_000);
  expect(ended).toEqual([
    { attributes: { [attr.approvalDecision]: "denied", [attr.actor]: "bob", [attr.reason]: "not today" } },
  ]);
});

test("what nobody decided in time ends its wait, and what had ended before does not end again", async () => {
  const { tracer, started, ended } = new Recorder();
  const approval = (tool: string, at: number) =>
    ({
      ...wait,
      id: newId(),
      tool,
      state: "EXPIRED",
      decidedBy: "expiry",
      comment: "",
      decidedAt: new Date(at),
    }) as Partial<Approval> as Approval;
  const settled: Settled = { tenant: "acme", taskId: wait.taskId, lastSequence: 5, sequence: 7 };
  const due = [[settled]];
  const sweeper = expireApprovals({
    approvals: {
      expire: async () => due.pop() ?? [],
      list: async () => [approval("new", 2_000), approval("new too", 2_000), approval("old", 1_000)],
    },
    signals: { committed: () => undefined, ready: () => undefined } as Partial<TaskSignals> as TaskSignals,
    ...{ tracer, clock: systemClock, everyMs: 10, onFault: (fault) => expect.unreachable(String(fault)) },
  });
  await vi.waitUntil(() => ended.length >= 2);
  await sweeper[Symbol.asyncDispose]();
  expect(started.map(({ name }) => name)).toEqual(["approval of new", "approval of new too"]);
  expect(ended.map(({ attributes }) => attributes?.[attr.approvalDecision])).toEqual(["expired", "expired"]);
});
