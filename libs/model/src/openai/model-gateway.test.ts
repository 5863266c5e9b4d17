import { type Clock, DroverError, systemClock } from "@drover/kernel";
import { expect, test } from "vitest";
import { frame, startWireServer, status, stream, type WireServer } from "../../test/wire-server.ts";
import { collectDecision } from "../decision.ts";
import type { ModelEvent, ModelRequest } from "../gateway.ts";
import { createOpenAiGateway, type OpenAiGatewayOptions } from "./model-gateway.ts";

const apiKey = "sk-test-0123456789abcdef";
const hello: ModelRequest = { messages: [{ role: "user", text: "hello" }] };
const instantClock = {
  now: () => new Date(),
  monotonicMs: () => 0,
  sleep: async (ms: number) => void waits.push(ms),
};
let waits: number[] = [];

async function ask(server: Pick<WireServer, "baseUrl">, options: Partial<OpenAiGatewayOptions> = {}, request = hello) {
  waits = [];
  const events: ModelEvent[] = [];
  const gateway = createOpenAiGateway({
    baseUrl: server.baseUrl,
    apiKey,
    model: "m-0",
    clock: instantClock,
    ...options,
  });
  const reply = await collectDecision(gateway.decide(request, { signal: AbortSignal.timeout(20_000) }), (event) =>
    events.push(event),
  );
  return { reply, events };
}

const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => expect.unreachable("the call must fail"),
    (error: DroverError) => error,
  );

const usage = (input: number, output: number, extra = {}) =>
  `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: input, completion_tokens: output, ...extra } })}\n\n`;
const done = "data: [DONE]\n\n";

const turns: Record<
  string,
  { readonly wire: readonly string[]; readonly decision: unknown; readonly usage?: unknown }
> = {
  "text, CRLF, comments and usage in a chunk of its own": {
    wire: [
      ": keep-alive\r\n\r\n",
      frame({ role: "assistant", content: "" }).replaceAll("\n", "\r\n"),
      frame({ content: "Hel" }),
      frame({ content: "lo" }),
      frame({}, "stop"),
      usage(9, 2, { prompt_tokens_details: { cached_tokens: 4 } }),
      done,
    ],
    decision: { kind: "final", text: "Hello" },
    usage: { inputTokens: 9, outputTokens: 2, cachedInputTokens: 4, reasoningTokens: 0, estimated: false },
  },
  "reasoning beside the text, cumulative usage, no [DONE]": {
    wire: [
      frame({ reasoning_content: "Let me see." }),
      usage(9, 1),
      frame({ content: "Hi" }, "stop"),
      usage(9, 6, { prompt_cache_hit_tokens: 3, completion_tokens_details: { reasoning_tokens: 4 } }),
    ],
    decision: { kind: "final", text: "Hi" },
    usage: { inputTokens: 9, outputTokens: 6, cachedInputTokens: 3, reasoningTokens: 4, estimated: false },
  },
  "tool calls with the finish reason stop": {
    wire: [
      frame({ content: null, tool_calls: [{ index: 0, id: "c1", function: { name: "grep", arguments: "" } }] }),
      frame({ tool_calls: [{ index: 0, function: { arguments: '{"p": "x"}' } }] }, "stop"),
      done,
    ],
    decision: {
      kind: "tool_calls",
      text: "",
      toolCalls: [{ callId: expect.any(String), providerCallId: "c1", name: "grep", argumentsJson: '{"p": "x"}' }],
    },
    usage: expect.objectContaining({ estimated: true }),
  },
  "calls cut at the output limit": {
    wire: [
      frame({
        content: "I",
        tool_calls: [{ index: 0, id: "c1", function: { name: "grep", arguments: '{"p' } }],
      }),
      frame({}, "length"),
      done,
    ],
    decision: { kind: "length", text: "I" },
  },
  "a refusal": { wire: [frame({ refusal: "No." }, "stop"), done], decision: { kind: "refusal", text: "No." } },
  "the provider's filter": {
    wire: [frame({ content: "A" }, "content_filter"), done],
    decision: { kind: "content_filter", text: "A" },
  },
  "nothing at all": { wire: [frame(null, "stop"), done], decision: { kind: "empty" } },
  "content as parts and another choice": {
    wire: [
      `data: {"choices":[{"index":1,"delta":{"content":"no"}}]}\n\n`,
      frame({ content: [{ type: "text", text: "yes" }] }, "stop"),
      done,
    ],
    decision: { kind: "final", text: "yes" },
  },
};

test.each(Object.entries(turns))("reads %s", async (_, turn) => {
  await using server = await startWireServer(stream(...turn.wire));
  const { reply, events } = await ask(server);
  expect(reply.decision).toEqual(turn.decision);
  if (turn.usage !== undefined) expect(reply.usage).toEqual(turn.usage);
  expect(reply.model).toBe("m-1");
  expect(events.at(-1)).toBe(reply);
  const shown = events.map((event) => (event.type === "text" ? event.text : "")).join("");
  if (reply.decision.kind === "final") expect(shown).toBe(reply.decision.text);
});

test("a multi-byte character split over two packets stays whole", async () => {
  const bytes = Buffer.from(frame({ content: "价格" }, "stop"));
  const cut = bytes.indexOf(Buffer.from("格")) + 1;
  await using server = await startWireServer(async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(bytes.subarray(0, cut));
    await new Promise((resolve) => setTimeout(resolve, 20));
    response.end(Buffer.concat([bytes.subarray(cut), Buffer.from(done)]));
  });
  expect((await ask(server)).reply.decision).toEqual({ kind: "final", text: "价格" });
});

test("sends a conversation with the provider's own ids, streaming, with the key as bearer", async () => {
  await using server = await startWireServer(stream(frame({ content: "ok" }, "stop"), done));
  const call = { callId: "ours-1", providerCallId: "theirs-1", name: "grep", argumentsJson: "{ }" };
  await ask(
    server,
    {},
    {
      model: "m-2",
      messages: [
        { role: "user", text: "q" },
        { role: "assistant", text: "", toolCalls: [call] },
        { role: "tool", callId: "ours-1", text: "found" },
      ],
      tools: [{ name: "grep", description: "Searches.", parameters: { type: "object", properties: {} } }],
      toolChoice: "auto",
    },
  );
  expect(server.seen[0]?.path).toBe("/v1/chat/completions");
  expect(server.seen[0]?.headers.authorization).toBe(`Bearer ${apiKey}`);
  expect(server.seen[0]?.body).toEqual({
    model: "m-2",
    stream: true,
    stream_options: { include_usage: true },
    tool_choice: "auto",
    messages: [
      { role: "user", content: "q" },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ type: "function", id: "theirs-1", function: { name: "grep", arguments: "{ }" } }],
      },
      { role: "tool", tool_call_id: "theirs-1", content: "found" },
    ],
    tools: [
      {
        type: "function",
        function: { name: "grep", description: "Searches.", parameters: { type: "object", properties: {} } },
      },
    ],
  });
});

interface Sent {
  readonly messages: readonly { tool_call_id?: string; tool_calls?: readonly { id: string }[] }[];
}

test("an id that a provider gives again in a later turn goes out once; the later call has ours", async () => {
  await using server = await startWireServer(stream(frame({ content: "ok" }, "stop"), done));
  const turn = (callId: string) => [
    {
      role: "assistant" as const,
      text: "",
      toolCalls: [{ callId, providerCallId: "grep:0", name: "grep", argumentsJson: "{}" }],
    },
    { role: "tool" as const, callId, text: `found ${callId}` },
  ];
  await ask(server, {}, { messages: [{ role: "user", text: "q" }, ...turn("ours-1"), ...turn("ours-2")] });
  const body: unknown = server.seen[0]?.body;
  const { messages } = body as Sent;
  expect(messages.flatMap((message) => message.tool_calls?.map(({ id }) => id) ?? [])).toEqual(["grep:0", "ours-2"]);
  expect(messages.flatMap((message) => message.tool_call_id ?? [])).toEqual(["grep:0", "ours-2"]);
});

test("a turn longer than anybody could use ends the call, and the connection with it", async () => {
  await using server = await startWireServer(async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    while (response.writable && !response.destroyed) {
      response.write(frame({ content: "y".repeat(100_000) }));
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
  });
  expect(await failureOf(ask(server))).toMatchObject({ reason: "MODEL_OUTPUT_TOO_LONG", retryable: false });
  await server.seen[0]?.closed;
});

test("an orphan tool message never leaves the process", async () => {
  await using server = await startWireServer(stream());
  const error = await failureOf(ask(server, {}, { messages: [{ role: "tool", callId: "x", text: "" }] }));
  expect(error).toMatchObject({ code: "INVALID_ARGUMENT", violations: [{ field: "messages[0].call_id" }] });
  expect(server.seen).toEqual([]);
});

const answer = (message: string, extra = {}) => ({ error: { message, type: "t", code: null, ...extra } });
const refusals: readonly (readonly [number, unknown, Record<string, string>, Partial<DroverError>])[] = [
  [400, answer(`bad ${apiKey}`), {}, { code: "INVALID_ARGUMENT", reason: "MODEL_REQUEST_REFUSED" }],
  [400, answer("m", { code: "context_length_exceeded" }), {}, { reason: "CONTEXT_LENGTH_EXCEEDED" }],
  [400, answer("This model's maximum context length is 8192 tokens"), {}, { reason: "CONTEXT_LENGTH_EXCEEDED" }],
  [401, answer("no"), {}, { code: "FAILED_PRECONDITION", reason: "MODEL_CREDENTIALS_REFUSED" }],
  [404, answer("no model"), {}, { code: "FAILED_PRECONDITION", reason: "MODEL_NOT_FOUND" }],
  [
    429,
    answer("q", { code: "insufficient_quota" }),
    {},
    { code: "RESOURCE_EXHAUSTED", reason: "MODEL_QUOTA_EXHAUSTED" },
  ],
  [
    429,
    answer("slow"),
    { "retry-after": "120" },
    { code: "RESOURCE_EXHAUSTED", retryable: true, retryAfterMs: 120_000 },
  ],
];

test.each(refusals)("a %i with %j is a typed error at once, without the key", async (code, body, headers, expected) => {
  await using server = await startWireServer(status(code, body, headers));
  const error = await failureOf(ask(server));
  expect(error).toBeInstanceOf(DroverError);
  expect(error).toMatchObject(expected);
  expect(error.message).toContain("127.0.0.1");
  expect(error.message).not.toContain(apiKey);
  expect(server.seen).toHaveLength(1);
});

test("tries 429, 5xx and dropped connections again, waits as told, and stops at the bound", async () => {
  const ok = stream(frame({ content: "ok" }, "stop"), done);
  const drop = (response: { destroy(): void }) => response.destroy();
  await using server = await startWireServer(
    status(429, answer("slow"), { "retry-after": "2" }),
    status(503, answer("busy"), { "retry-after-ms": "7" }),
    drop,
    ok,
  );
  expect((await ask(server)).reply.decision).toEqual({ kind: "final", text: "ok" });
  expect(waits.slice(0, 2)).toEqual([2_000, 7]);
  expect(waits).toHaveLength(3);
  await using dead = await startWireServer(status(500, answer("boom")));
  expect(await failureOf(ask(dead, { maxRetries: 2 }))).toMatchObject({ code: "UNAVAILABLE" });
  expect(dead.seen).toHaveLength(3);
});

test("a turn that breaks off after its first chunk fails as a whole and is not sent again", async () => {
  await using cut = await startWireServer(async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(frame({ content: "par" }));
    await new Promise((resolve) => setTimeout(resolve, 20));
    response.destroy();
  });
  expect(await failureOf(ask(cut))).toMatchObject({ code: "UNAVAILABLE", retryable: true });
  expect(cut.seen).toHaveLength(1);
  await using open = await startWireServer(stream(frame({ content: "par" }), done));
  expect(await failureOf(ask(open))).toMatchObject({ code: "UNAVAILABLE", reason: "MODEL_STREAM_INCOMPLETE" });
  await using failed = await startWireServer(
    stream(frame({ content: "par" }), `data: {"error":{"message":"rate limit"}}\n\n`),
  );
  expect(await failureOf(ask(failed))).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "MODEL_RATE_LIMITED" });
});

test("learns that an endpoint refuses stream_options", async () => {
  const ok = stream(frame({ content: "ok" }, "stop"), done);
  await using server = await startWireServer(status(400, answer("unknown field stream_options")), ok);
  expect((await ask(server)).reply.usage).toMatchObject({ estimated: true, outputTokens: 1 });
  expect(server.seen[1]?.body).not.toHaveProperty("stream_options");
});

test("a dead endpoint is UNAVAILABLE and named", async () => {
  const server = await startWireServer(stream());
  await server[Symbol.asyncDispose]();
  const error = await failureOf(ask(server, { maxRetries: 0 }));
  expect(error).toMatchObject({ code: "UNAVAILABLE", reason: "MODEL_UNREACHABLE" });
  expect(error.message).toMatch(/127\.0\.0\.1:\d+ cannot be reached \(ECONNREFUSED\)/);
});

test("silence ends in DEADLINE_EXCEEDED: before the first byte, and for the whole", async () => {
  await using silent = await startWireServer(() => {});
  const first = await failureOf(ask(silent, { firstByteTimeoutMs: 30 }));
  expect(first).toMatchObject({ code: "DEADLINE_EXCEEDED", reason: "MODEL_TIMEOUT" });
  await using slow = await startWireServer((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(frame({ content: "a" }));
  });
  const whole = await failureOf(ask(slow, { totalTimeoutMs: 60 }));
  expect(whole).toMatchObject({ code: "DEADLINE_EXCEEDED", reason: "MODEL_TIMEOUT" });
});

test("an abort closes the connection in the middle of the stream, as does leaving the iteration", async () => {
  await using server = await startWireServer((response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(frame({ content: "a" }));
  });
  const gateway = createOpenAiGateway({ baseUrl: server.baseUrl, apiKey, model: "m" });
  const abort = new AbortController();
  const error = await failureOf(collectDecision(gateway.decide(hello, { signal: abort.signal }), () => abort.abort()));
  expect(error.code).toBe("CANCELLED");
  await server.seen[0]?.closed;
  for await (const _ of gateway.decide(hello, { signal: new AbortController().signal })) break;
  await server.seen[1]?.closed;
  expect(server.seen).toHaveLength(2);
});

test("an abort ends the wait before a retry", async () => {
  // The wait is longer than the test may take.
  await using server = await startWireServer(status(503, answer("busy"), { "retry-after": "55" }));
  const abort = new AbortController();
  const sleep: Clock["sleep"] = (ms, signal) => {
    setImmediate(() => abort.abort());
    return systemClock.sleep(ms, signal);
  };
  const clock = { ...systemClock, sleep };
  const gateway = createOpenAiGateway({ baseUrl: server.baseUrl, apiKey, model: "m", clock });
  const error = await failureOf(collectDecision(gateway.decide(hello, { signal: abort.signal })));
  expect(error.code).toBe("CANCELLED");
  expect(server.seen).toHaveLength(1);
});
