import { type Clock, DroverError } from "@drover/kernel";
import { noopTracer } from "@drover/tracing";
import { expect, test } from "vitest";
import type { ToolResult } from "../domain/tool-result.ts";
import { executeTool } from "./execute-tool.ts";
import type { Tool, ToolContext } from "./tool-ports.ts";

const span = noopTracer.start({ tenant: "acme", name: "tool", kind: "tool" });
const context: ToolContext = {
  tenant: "acme",
  subject: "alice",
  taskId: "t",
  trace: span.context,
  callId: "c",
  conversationId: "v",
  collection: "default",
  allowedCommands: [],
  workspace: async () => "w",
  span,
};
const good: ToolResult = { ok: true, errorCode: "", summary: "fine", text: "", artifacts: [], retryable: false };

const waits: number[] = [];
let now = 0;
const clock: Clock = {
  now: () => new Date(now),
  monotonicMs: () => now,
  sleep: async (ms) => {
    waits.push(ms);
    now += ms;
  },
};

function run(execute: Tool["execute"], signal = new AbortController().signal, timeoutMs = 1_000, graceMs = 20) {
  const tool: Tool = { spec: { name: "tool", description: "", parameters: {} }, timeoutMs, replay: "safe", execute };
  return executeTool(tool, {}, context, signal, { patience: { totalMs: 10_000, clock }, graceMs });
}

const whenAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));

test("a result is passed on", async () => {
  expect(await run(async () => good)).toEqual(good);
});

test("what a tool throws becomes a result; an unknown fault tells nothing of itself", async () => {
  const typed = new DroverError("UNAVAILABLE", "The sandbox is away.", { reason: "SANDBOX_UNAVAILABLE" });
  expect(await run(() => Promise.reject(typed))).toMatchObject({
    ok: false,
    errorCode: "SANDBOX_UNAVAILABLE",
    summary: "The sandbox is away.",
    retryable: true,
  });
  const raw = await run(() => Promise.reject(new Error("password=hunter2 at /etc")));
  expect(raw.errorCode).toBe("INTERNAL");
  expect(raw.summary).not.toContain("hunter2");
});

test("a service that is away for a moment is waited for; one that stays away is a result", async () => {
  const away = new DroverError("UNAVAILABLE", "The service sandbox cannot be reached.", { reason: "PEER_UNREACHABLE" });
  let calls = 0;
  expect(await run(async () => (calls++ < 3 ? Promise.reject(away) : good))).toEqual(good);
  expect(calls).toBe(4);
  waits.length = 0;
  expect(await run(() => Promise.reject(away))).toMatchObject({ errorCode: "PEER_UNREACHABLE", retryable: true });
  expect(waits.reduce((sum, ms) => sum + ms, 0)).toBeLessThanOrEqual(10_000);
  const refused = new DroverError("INVALID_ARGUMENT", "No.");
  calls = 0;
  await run(async () => {
    calls++;
    throw refused;
  });
  expect(calls).toBe(1);
});

test("a tool over its time is stopped; one that does not stop is left behind with an unknown outcome", async () => {
  const stops = await run((_args, _context, signal) => whenAborted(signal), undefined, 10);
  expect(stops).toMatchObject({ errorCode: "TIMEOUT", summary: "The tool tool took longer than 10 ms." });
  const hangs = await run(() => new Promise<never>(() => undefined), undefined, 10);
  expect(hangs.errorCode).toBe("OUTCOME_UNKNOWN");
});

test("a cancel gives a result too, and a tool that finished after all keeps its own", async () => {
  const stop = new AbortController();
  const stopped = run((_args, _context, signal) => whenAborted(signal), stop.signal);
  const finished = run((_args, _context, signal) => whenAborted(signal).catch(() => good), stop.signal);
  stop.abort(new DroverError("CANCELLED", "The task was cancelled."));
  expect((await stopped).errorCode).toBe("CANCELLED");
  expect(await finished).toEqual(good);
});
