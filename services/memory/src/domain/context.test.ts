import { DroverError } from "@drover/kernel";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assertAcceptable } from "./acceptable.ts";
import { buildContext, type ContextMessage } from "./context.ts";
import type { LoggedMessage } from "./message.ts";

const count = (text: string) => Math.ceil(text.length / 4) + 4;

function message(sequence: number, over: Partial<LoggedMessage> & Pick<LoggedMessage, "role">): LoggedMessage {
  const text = over.text ?? `message ${sequence}`;
  return {
    id: `id-${sequence}`,
    sequence,
    text,
    toolCalls: [],
    toolCallId: "",
    spillPointer: "",
    fullCharacters: text.length,
    clientMessageId: "",
    pinned: false,
    taskId: "",
    createdAt: new Date(0),
    tokens: count(text),
    ...over,
  };
}

const turn = (sequence: number, ...callIds: string[]) =>
  message(sequence, {
    role: "assistant",
    toolCalls: callIds.map((callId) => ({ callId, name: "run_code", argumentsJson: "{}", providerCallId: "p" })),
  });
const result = (sequence: number, callId: string, text = "ok") =>
  message(sequence, { role: "tool", toolCallId: callId, text });

function build(messages: readonly LoggedMessage[], usableTokens = 10_000, fixedTokens = 0) {
  const source = { conversationId: "c", messages, throughSequence: messages.at(-1)?.sequence ?? 0 };
  const limits = { windowTokens: 12_000, usableTokens, fixedTokens, previewCharacters: 40 };
  const context = buildContext(source, limits, count);
  assertAcceptable(context.messages);
  return context;
}

const sequences = (messages: readonly ContextMessage[]) => messages.map((m) => m.sequence);

describe("buildContext", () => {
  it("keeps the order of the log and puts results behind their calls, in call order", () => {
    const log = [message(1, { role: "user" }), turn(2, "a", "b"), result(3, "b"), result(4, "a")];
    expect(sequences(build(log).messages)).toEqual([1, 2, 4, 3]);
  });

  it("answers a call without a result with an unknown outcome, and with the real one once it is there", () => {
    const log = [message(1, { role: "user" }), turn(2, "a"), message(3, { role: "user" })];
    const dangling = build(log).messages;
    expect(dangling.map((m) => m.role)).toEqual(["user", "assistant", "tool", "user"]);
    expect(dangling[2]?.text).toContain("outcome is unknown");
    expect(sequences(build([...log, result(4, "a", "late")]).messages)).toEqual([1, 2, 4, 3]);
  });

  it("never cuts inside a unit and keeps pinned messages at their place", () => {
    const log = [
      message(1, { role: "user", pinned: true, text: "the task" }),
      turn(2, "a"),
      result(3, "a", "x".repeat(400)),
      turn(4, "b"),
      result(5, "b"),
      message(6, { role: "user", text: "and now" }),
    ];
    const context = build(log, 60);
    expect(sequences(context.messages)).toEqual([1, 4, 5, 6]);
    expect(context.messagesLeftOut).toBe(2);
  });

  it("leaves out the results of a turn that begins before what was loaded", () => {
    expect(sequences(build([result(7, "old"), message(8, { role: "user" })]).messages)).toEqual([8]);
  });

  it("shortens the longest results of the newest unit for this view where it would not fit", () => {
    const log = [
      message(1, { role: "user", pinned: true }),
      turn(2, "a", "b"),
      result(3, "a", "y".repeat(4000)),
      result(4, "b"),
    ];
    const context = build(log, 200);
    const shortened = context.messages.find((m) => m.sequence === 3);
    expect(shortened?.spillPointer).toBe("spill://c/a");
    expect(shortened?.text).toContain("first 40 of 4,000 characters");
    expect(context.messages.find((m) => m.sequence === 4)?.text).toBe("ok");
    expect(context.historyTokens).toBeLessThanOrEqual(200);
    expect(context.messagesSpilled).toBe(1);
  });

  it("renames calls whose name a provider would refuse", () => {
    const odd = { callId: "a", name: "functions.run code!", argumentsJson: "{}", providerCallId: "" };
    const log = [message(1, { role: "user" }), message(2, { role: "assistant", toolCalls: [odd] }), result(3, "a")];
    expect(build(log).messages[1]?.toolCalls[0]?.name).toBe("functions_run_code_");
  });

  it("says with a breakdown when what must be sent is over the budget", () => {
    const log = [message(1, { role: "user", pinned: true, text: "z".repeat(400) }), message(2, { role: "user" })];
    const error = catchError(() => build(log, 150, 60));
    expect(error).toMatchObject({ code: "FAILED_PRECONDITION", reason: "BUDGET_UNSATISFIABLE" });
    expect(error.metadata).toMatchObject({ fixed_tokens: "60", pinned_tokens: "104", usable_tokens: "150" });
  });

  it("is acceptable, within the budget and the same each time, for any log", () => {
    fc.assert(
      fc.property(anyLog, fc.integer({ min: 400, max: 3000 }), (log, usable) => {
        const context = build(log, usable);
        expect(context.historyTokens).toBeLessThanOrEqual(usable);
        expect(build(log, usable)).toEqual(context);
        const kept = new Set(sequences(context.messages));
        for (const m of log) if (m.pinned) expect(kept.has(m.sequence)).toBe(true);
        const last = log.at(-1);
        if (last !== undefined && last.role !== "tool") expect(kept.has(last.sequence)).toBe(true);
      }),
    );
  });
});

/** Turns with up to three calls, of which any may lack its result or get it late. */
const anyLog = fc
  .array(
    fc.record({
      role: fc.constantFrom("user" as const, "assistant" as const),
      size: fc.integer({ min: 1, max: 300 }),
      calls: fc.array(fc.constantFrom("now", "later", "never"), { maxLength: 3 }),
    }),
    { maxLength: 30 },
  )
  .map((steps) => {
    const log: LoggedMessage[] = [];
    const late: string[] = [];
    const next = () => log.length + 1;
    for (const [index, step] of steps.entries()) {
      if (step.role === "user") {
        log.push(message(next(), { role: "user", text: "u".repeat(step.size), pinned: index === 0 }));
        continue;
      }
      const ids = step.calls.map((_, at) => `${index}-${at}`);
      log.push(turn(next(), ...ids));
      for (const [at, when] of step.calls.entries()) {
        if (when === "now") log.push(result(next(), ids[at] ?? "", "r".repeat(step.size)));
        if (when === "later") late.push(ids[at] ?? "");
      }
    }
    for (const id of late) log.push(result(next(), id));
    return log;
  });

function catchError(work: () => unknown): DroverError {
  try {
    work();
  } catch (error) {
    if (error instanceof DroverError) return error;
    throw error;
  }
  throw new Error("expected a DroverError");
}
