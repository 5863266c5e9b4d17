import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { SpanSchema, SpanState, TraceSummarySchema } from "@drover/proto/trace/v1/trace";
import { attr } from "@drover/tracing/schema";
import { expect, test } from "vitest";
import { traceLines } from "./trace-tree.ts";

const ms = (value: number) => BigInt(value) * 1_000_000n;

function spanOf(
  spanId: string,
  parentSpanId: string,
  from: number,
  to: number,
  more: Partial<ReturnType<typeof plain>> = {},
) {
  return create(SpanSchema, {
    spanId,
    parentSpanId,
    name: spanId,
    startNs: ms(from),
    endNs: ms(to),
    ...plain(),
    ...more,
  });
}

function plain(): { state: SpanState; error: string } {
  return { state: SpanState.ENDED, error: "" };
}

function show(
  spans: ReturnType<typeof spanOf>[],
  summary: MessageInitShape<typeof TraceSummarySchema> = {},
  color = false,
) {
  return traceLines(create(TraceSummarySchema, summary), spans, { width: 40, color });
}

test("spans stand below their parents by start, with durations and errors", () => {
  const lines = show([
    spanOf("run_code", "round 1", 5, 25, { error: "TIMEOUT_WALL: slow" }),
    spanOf("task", "", 0, 3000),
    spanOf("model", "round 1", 1, 5),
    spanOf("round 1", "task", 0, 30),
    spanOf("round 2", "task", 30, 0, { state: SpanState.STARTED }),
  ]);
  expect(lines.slice(2)).toEqual([
    "task                               3.0 s",
    "├─ round 1                         30 ms",
    "│  ├─ model                         4 ms",
    "│  └─ run_code                     20 ms",
    "│       TIMEOUT_WALL: slow",
    "└─ round 2                       running",
  ]);
});

test("a call says in its row what came of it, as far as there is room", () => {
  const attributes = { [attr.toolSummary]: "/workspace/orders.json, whole file" };
  const [, , row] = show([{ ...spanOf("read", "", 0, 5), attributes }]);
  expect(row).toBe("read  /workspace/orders.j…          5 ms");
});

test("a span without its parent, and spans in a circle, are shown as roots", () => {
  const lines = show([spanOf("orphan", "gone", 0, 1), spanOf("a", "b", 1, 2), spanOf("b", "a", 2, 3)]);
  expect(lines.slice(2).map((line) => line.trim().split(" ")[0])).toEqual(["orphan", "a", "b"]);
});

test("colour marks errors, and the head sums up", () => {
  const [head = "", , row = ""] = show(
    [spanOf("tool", "", 0, 1, { error: "no" })],
    {
      traceId: "f".repeat(32),
      name: "task",
      spanCount: 1,
      errorCount: 1,
      taskState: "FAILED",
      startNs: 0n,
      endNs: ms(1500),
    },
    true,
  );
  expect(head).toBe(`trace ${"f".repeat(32)} · task · failed · 1 span · \x1b[31m1 error\x1b[39m · 1.5 s`);
  expect(row).toContain("\x1b[31mtool\x1b[39m");
});
