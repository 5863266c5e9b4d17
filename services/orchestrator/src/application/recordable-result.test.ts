import { type Attributes, attr, noopTracer, type SpanEnd } from "@drover/tracing";
import { expect, test } from "vitest";
import { toolFailure } from "../domain/tool-result.ts";
import { recordableResult } from "./recordable-result.ts";
import type { TaskSession } from "./task-session.ts";

const parts = {
  memory: {} as never,
  clock: {} as never,
  view: { spillThreshold: 32_000, preview: 2_048, viewCap: 8_000 },
  patienceMs: 0,
};

async function endedWith(result: ReturnType<typeof toolFailure>): Promise<SpanEnd & { attributes: Attributes }> {
  const ends: (SpanEnd & { attributes: Attributes })[] = [];
  const silent = noopTracer.start({ tenant: "acme", name: "glob", kind: "tool" });
  const span = { ...silent, end: (end: SpanEnd = {}) => void ends.push({ attributes: {}, ...end }) };
  await recordableResult(parts, {} as TaskSession, { callId: "c", span, durationMs: 1 }, result);
  const [end] = ends;
  if (end === undefined) throw new Error("The span was not ended.");
  return end;
}

test("the call's span ends with one redacted line of what came of it", async () => {
  const summary = "read /etc/x,\npassword=hunter2secret";
  const end = await endedWith({ ...toolFailure("", summary), ok: true });
  expect(end.error).toBeUndefined();
  expect(end.attributes[attr.toolSummary]).toMatch(/^read \/etc\/x, password=\[redacted:[a-z_-]+\]$/);
});

test("a failed call's span has its code and the summary as its error", async () => {
  const end = await endedWith(toolFailure("NOT_FOUND", "There is no such file."));
  expect(end.error).toBe("NOT_FOUND: There is no such file.");
  expect(end.attributes[attr.errorCode]).toBe("NOT_FOUND");
});
