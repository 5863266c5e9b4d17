import { fromBinary } from "@bufbuild/protobuf";
import { conversationFault, type Message as ModelMessage } from "@drover/model";
import { TraceFrameSchema, type TraceRecord } from "@drover/proto/event/v1/trace_frame";
import { type Message, Role } from "@drover/proto/memory/v1/message";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fresh, type MemoryUnderTest, startUnderTest } from "./harness.ts";

let memory: MemoryUnderTest;
beforeAll(async () => {
  memory = await startUnderTest();
});
afterAll(() => memory[Symbol.asyncDispose]());

const user = (text: string, pinned = false) => ({ role: Role.USER, text, pinned });
const asking = (...callIds: string[]) => ({
  role: Role.ASSISTANT,
  toolCalls: callIds.map((callId) => ({ callId, name: "read_log", argumentsJson: "{}" })),
});
const answer = (toolCallId: string, text: string) => ({ role: Role.TOOL, toolCallId, text });

describe("BuildContext", () => {
  it("appends, then answers with everything that fits and where the tokens went", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    const append = [user("why is it stuck?", true), asking("a", "b"), answer("b", "second"), answer("a", "first")];
    const context = await client.buildContext({ conversationId, append, fixedTokens: 1000n }, as("t1"));
    expect(context.messages.map((m) => m.text)).toEqual(["why is it stuck?", "", "first", "second"]);
    expect(context.throughSequence).toBe(4n);
    expect(context.budget).toMatchObject({
      windowTokens: 128_000n,
      usableTokens: 116_160n,
      fixedTokens: 1000n,
      messagesInContext: 4,
      messagesLeftOut: 0,
    });
    expect(faultOf(context.messages)).toBeUndefined();
  });

  it("answers a call without a result honestly until the result is there", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    const dangling = await client.buildContext({ conversationId, append: [user("go"), asking("a")] }, as("t1"));
    expect(dangling.messages.at(-1)).toMatchObject({ role: Role.TOOL, toolCallId: "a", sequence: 0n });
    expect(dangling.messages.at(-1)?.text).toContain("outcome is unknown");
    const settled = await client.buildContext({ conversationId, append: [answer("a", "it ran")] }, as("t1"));
    expect(settled.messages.map((m) => m.text)).toEqual(["go", "", "it ran"]);
  });

  it("keeps a history of 600,000 tokens within the budget, with the pinned task and the newest turn", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    await client.appendMessages({ conversationId, messages: [user("THE TASK", true)] }, as("t1"));
    const text = "the gateway answered with a time-out and the order is still pending; ".repeat(430);
    let stored = 0;
    for (let round = 0; stored < 600_000; round++) {
      const messages = [asking(`call-${round}`), answer(`call-${round}`, text), user(`go on ${round}`)];
      const reply = await client.appendMessages({ conversationId, messages }, as("t1"));
      stored += reply.messages.reduce((sum, message) => sum + message.tokens, 0);
    }
    const context = await client.buildContext({ conversationId, fixedTokens: 2000n }, as("t1"));
    const budget = context.budget;
    expect(Number(budget?.historyTokens) + 2000).toBeLessThanOrEqual(116_160);
    expect(Number(budget?.historyTokens)).toBeGreaterThan(80_000);
    expect(budget?.messagesLeftOut).toBe(Number(context.throughSequence) - context.messages.length);
    expect(context.messages[0]?.text).toBe("THE TASK");
    expect(context.messages.at(-1)?.sequence).toBe(context.throughSequence);
    expect(faultOf(context.messages)).toBeUndefined();

    const small = await client.buildContext({ conversationId, windowTokens: 8000n }, as("t1"));
    expect(Number(small.budget?.historyTokens)).toBeLessThanOrEqual(Number(small.budget?.usableTokens));
    expect(faultOf(small.messages)).toBeUndefined();
  });

  it("says what it cannot satisfy, with a breakdown", async () => {
    const { client, as } = memory;
    const request = { conversationId: fresh("c"), append: [user("hello", true)], windowTokens: 8000n };
    await expect(client.buildContext({ ...request, fixedTokens: 5200n }, as("t1"))).rejects.toMatchObject({
      code: "FAILED_PRECONDITION",
      reason: "BUDGET_UNSATISFIABLE",
      metadata: { window_tokens: "8000", usable_tokens: "5200", fixed_tokens: "5200" },
    });
    await expect(client.buildContext({ ...request, fixedTokens: -1n }, as("t1"))).rejects.toMatchObject({
      violations: [expect.objectContaining({ field: "fixed_tokens" })],
    });
  });
});

describe("the trace of a context", () => {
  it("is a span below the caller's, with the budget in it", async () => {
    const { client, as, bus } = memory;
    const records: TraceRecord[] = [];
    const frames = bus.consume({
      handler: async (batch) => {
        for (const { data } of batch) records.push(...fromBinary(TraceFrameSchema, data).records);
      },
    });
    const trace = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" };
    await client.buildContext({ conversationId: fresh("c"), append: [user("go")] }, as("t1", "alice", trace));
    await expect.poll(() => records.some(({ record }) => record.case === "ended")).toBe(true);
    await frames[Symbol.asyncDispose]();
    const started = records.find(({ record }) => record.case === "started")?.record.value;
    expect(started).toMatchObject({ parentSpanId: trace.spanId, name: "build context", kind: "memory" });
    const ended = records.find(({ record }) => record.case === "ended")?.record.value;
    expect(ended).toMatchObject({
      error: "",
      attributes: { "drover.context.budget": "116160", "drover.context.messages": "1" },
    });
  });
});

function faultOf(messages: readonly Message[]) {
  return conversationFault(
    messages.map((message): ModelMessage => {
      if (message.role === Role.TOOL) return { role: "tool", callId: message.toolCallId, text: message.text };
      if (message.role === Role.ASSISTANT) {
        return { role: "assistant", text: message.text, toolCalls: message.toolCalls };
      }
      return { role: "user", text: message.text };
    }),
  );
}
