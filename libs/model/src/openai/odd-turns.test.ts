import { expect, test } from "vitest";
import { frame, startWireServer, stream } from "../../test/wire-server.ts";
import { collectDecision } from "../decision.ts";
import type { ModelEvent } from "../gateway.ts";
import { createOpenAiGateway } from "./model-gateway.ts";

const done = "data: [DONE]\n\n";
const parameters = { type: "object", properties: { p: { type: "string" } } };
const tools = [{ name: "grep", description: "Finds lines.", parameters }];

const turns: Record<
  string,
  {
    readonly wire: readonly string[];
    readonly decision: unknown;
    readonly usage?: unknown;
    readonly stripped?: unknown;
  }
> = {
  "thoughts between tags, cut in the middle of a tag": {
    wire: [
      frame({ content: "<th" }),
      frame({ content: "ink>Let me see.</thi" }),
      frame({ content: "nk>\n\nHi" }),
      frame({}, "stop"),
      done,
    ],
    decision: { kind: "final", text: "Hi" },
    usage: expect.objectContaining({ estimated: true, reasoningTokens: 4 }),
  },
  "thoughts without an end": { wire: [frame({ content: "<think>Hm" }, "stop"), done], decision: { kind: "empty" } },
  "arguments with a slip": {
    wire: [
      frame({ tool_calls: [{ index: 0, id: 7, function: { name: "grep", arguments: "{'p':" } }] }),
      frame({ tool_calls: [{ index: 0, id: "", function: { name: "", arguments: "'x',}" } }] }, "tool_calls"),
      done,
    ],
    decision: expect.objectContaining({
      toolCalls: [expect.objectContaining({ providerCallId: "7", argumentsJson: '{"p":"x"}' })],
    }),
  },
  "a byte order mark, names of events and data over two lines": {
    wire: [
      "\uFEFF: begin\n\n",
      `event: message\nid: 1\n${frame({ content: "a" }).replace('"choices"', '\ndata: "choices"')}`,
      frame({ content: "b" }, "stop"),
      done,
    ],
    decision: { kind: "final", text: "ab" },
  },
  "a call in the text, cut in the middle of its marks": {
    wire: [
      frame({ content: "I look.<tool" }),
      frame({ content: '_call>{"name":"grep","argu' }),
      frame({ content: 'ments":{"p":"x"}}</tool_call' }),
      frame({ content: ">" }),
      frame({}, "stop"),
      done,
    ],
    decision: {
      kind: "tool_calls",
      text: "I look.",
      toolCalls: [expect.objectContaining({ name: "grep", argumentsJson: '{"p":"x"}', recovered: true })],
    },
  },
  "a call in the text beside one that was made": {
    wire: [
      frame({
        content:
          "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>grep<｜tool▁sep｜>{}<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
      }),
      frame({ tool_calls: [{ index: 0, id: "c1", function: { name: "grep", arguments: "{}" } }] }, "tool_calls"),
      done,
    ],
    decision: {
      kind: "tool_calls",
      text: "",
      toolCalls: [{ callId: expect.any(String), providerCallId: "c1", name: "grep", argumentsJson: "{}" }],
    },
  },
  "a call in the text that was cut at the output limit": {
    wire: [frame({ content: '[TOOL_CALLS]grep{"p":"x"}' }, "length"), done],
    decision: { kind: "length", text: "" },
  },
  "a call in a code span": {
    wire: [frame({ content: "Write `[TOOL_CALLS]grep{}`." }, "stop"), done],
    decision: { kind: "final", text: "Write `[TOOL_CALLS]grep{}`." },
  },
  "a finish reason of the vendor's own": {
    wire: [frame({ content: "A" }, "repetition_truncation"), done],
    decision: { kind: "final", text: "A" },
  },
  "a call in the text of a tool that is not there": {
    wire: [frame({ content: "A[TOOL_CALLS]rm{}." }, "stop"), done],
    decision: { kind: "final", text: "A." },
    stripped: ["rm"],
  },
};

test.each(Object.entries(turns))("reads %s", async (_, { wire, decision, usage, stripped }) => {
  await using server = await startWireServer(stream(...wire));
  const gateway = createOpenAiGateway({ baseUrl: server.baseUrl, apiKey: "k", model: "m" });
  const events: ModelEvent[] = [];
  const request = { messages: [{ role: "user", text: "q" }], tools } as const;
  const signal = AbortSignal.timeout(20_000);
  const reply = await collectDecision(gateway.decide(request, { signal }), (event) => events.push(event));
  expect(reply.decision).toEqual(decision);
  expect(reply.stripped).toEqual(stripped);
  if (usage !== undefined) expect(reply.usage).toEqual(usage);
  const shown = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  if ("text" in reply.decision) expect(reply.decision.text.startsWith(shown)).toBe(true);
});
