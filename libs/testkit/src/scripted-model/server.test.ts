import { collectDecision, hashVector, type Message, type ModelEvent } from "@drover/model";
import { createOpenAiEmbedder, createOpenAiGateway } from "@drover/model/openai";
import { expect, test } from "vitest";
import { callsScript, echoScript, failingScript, slowScript, turnsScript } from "./plain-scripts.ts";
import { type ScriptedModel, startScriptedModel } from "./server.ts";

const user = { role: "user", content: "hi" };
const call = (id: string, name = "grep") => ({ id, type: "function", function: { name, arguments: "{}" } });
const result = (id: string) => ({ role: "tool", tool_call_id: id, content: "r" });
const tool = (parameters: unknown, name = "grep") => ({ type: "function", function: { name, parameters } });

function post(model: ScriptedModel, path: string, body: unknown, key = model.apiKey) {
  const headers = { "content-type": "application/json", ...(key === "" ? {} : { authorization: `Bearer ${key}` }) };
  return fetch(`${model.baseUrl}${path}`, {
    method: "POST",
    headers,
    body: typeof body === "string" ? body : JSON.stringify(body),
  });
}

function ask(model: ScriptedModel, messages: readonly Message[], signal = AbortSignal.timeout(20_000)) {
  const events: ModelEvent[] = [];
  const gateway = createOpenAiGateway({ baseUrl: model.baseUrl, apiKey: model.apiKey, model: "m", maxRetries: 0 });
  const reply = collectDecision(gateway.decide({ messages }, { signal }), (event) => events.push(event));
  return { reply, events };
}

const refused: readonly (readonly [string, unknown, string])[] = [
  ["a body that is no JSON", "{", ""],
  ["no model", { messages: [user] }, "model"],
  ["an unknown field", { model: "m", messages: [user], temperatur: 1 }, "temperatur"],
  ["no messages", { model: "m", messages: [] }, "messages"],
  ["an unknown role", { model: "m", messages: [{ role: "bot", content: "x" }] }, "messages[0].role"],
  ["an orphan tool message", { model: "m", messages: [user, result("a")] }, "messages[1].tool_call_id"],
  [
    "a missing result",
    { model: "m", messages: [user, { role: "assistant", tool_calls: [call("a"), call("b")] }, result("a"), user] },
    "messages[3]",
  ],
  ["a missing last result", { model: "m", messages: [{ role: "assistant", tool_calls: [call("a")] }] }, "messages"],
  ["an empty assistant turn", { model: "m", messages: [user, { role: "assistant", content: "" }] }, "messages[1]"],
  [
    "an empty list of calls",
    { model: "m", messages: [{ role: "assistant", content: "x", tool_calls: [] }] },
    "messages[0].tool_calls",
  ],
  [
    "a bad call name",
    { model: "m", messages: [{ role: "assistant", tool_calls: [call("a", "a b")] }, result("a")] },
    "messages[0].tool_calls[0].function.name",
  ],
  [
    "a call id used twice",
    { model: "m", messages: [{ role: "assistant", tool_calls: [call("a"), call("a")] }, result("a")] },
    "messages[0].tool_calls[1].id",
  ],
  [
    "a bad tool name",
    { model: "m", messages: [user], tools: [tool({ type: "object" }, "a.b")] },
    "tools[0].function.name",
  ],
  [
    "two tools of one name",
    { model: "m", messages: [user], tools: [tool({ type: "object" }), tool({ type: "object" })] },
    "tools[1].function.name",
  ],
  [
    "a schema that is no object",
    { model: "m", messages: [user], tools: [tool({ type: "array" })] },
    "tools[0].function.parameters",
  ],
  [
    "an unknown type in a schema",
    { model: "m", messages: [user], tools: [tool({ type: "object", properties: { a: { type: "text" } } })] },
    "tools[0].function.parameters",
  ],
  [
    "an array without items",
    { model: "m", messages: [user], tools: [tool({ type: "object", properties: { a: { type: "array" } } })] },
    "tools[0].function.parameters",
  ],
  [
    "a required property that is not declared",
    { model: "m", messages: [user], tools: [tool({ type: "object", properties: {}, required: ["a"] })] },
    "tools[0].function.parameters",
  ],
  ["a tool choice without tools", { model: "m", messages: [user], tool_choice: "auto" }, "tool_choice"],
  ["stream options without a stream", { model: "m", messages: [user], stream_options: {} }, "stream_options"],
];

test.each(refused)("refuses %s like a strict provider", async (_, body, param) => {
  await using model = await startScriptedModel({ script: echoScript });
  const answer = await post(model, "/chat/completions", body);
  expect(answer.status).toBe(400);
  const { error } = (await answer.json()) as { error: Record<string, unknown> };
  expect(error).toMatchObject({ type: "invalid_request_error", param, message: expect.any(String) });
});

test("wants a key, and the right one where it was given one", async () => {
  await using model = await startScriptedModel({ script: echoScript, apiKey: "right" });
  const body = { model: "m", messages: [user] };
  const statuses = [];
  for (const key of ["", "wrong", "right"]) statuses.push((await post(model, "/chat/completions", body, key)).status);
  expect(statuses).toEqual([401, 401, 200]);
  expect((await post(model, "/nothing", {})).status).toBe(404);
});

test("streams and gives the whole answer alike, with counted usage", async () => {
  await using model = await startScriptedModel({ script: echoScript });
  const whole = await (await post(model, "/chat/completions", { model: "m", messages: [user] })).json();
  expect(whole).toMatchObject({
    object: "chat.completion",
    choices: [{ index: 0, message: { role: "assistant", content: "You said: hi" }, finish_reason: "stop" }],
    usage: { prompt_tokens: expect.any(Number), completion_tokens: 4 },
  });
  const { reply, events } = ask(model, [{ role: "user", text: "hi" }]);
  expect(await reply).toMatchObject({
    decision: { kind: "final", text: "You said: hi" },
    usage: { outputTokens: 4, estimated: false },
  });
  expect(events.filter((event) => event.type === "text").length).toBeGreaterThan(2);
});

test("parallel calls come in many pieces, and their results back in order", async () => {
  const script = callsScript([
    { name: "grep", arguments: { pattern: 'größe 🙂 "x"', path: "/workspace" } },
    { name: "glob", arguments: "{not json" },
  ]);
  await using model = await startScriptedModel({ script });
  const asked: Message = { role: "user", text: "go" };
  const { reply, events } = ask(model, [asked]);
  const { decision } = await reply;
  if (decision.kind !== "tool_calls") expect.unreachable("calls were scripted");
  expect(decision.toolCalls.map((made) => [made.name, made.argumentsJson])).toEqual([
    ["grep", '{"pattern":"größe 🙂 \\"x\\"","path":"/workspace"}'],
    ["glob", "{not json"],
  ]);
  expect(events.filter((event) => event.type === "tool_call").length).toBeGreaterThan(8);
  const results = decision.toolCalls.map((made, n): Message => ({ role: "tool", callId: made.callId, text: `r${n}` }));
  const second = ask(model, [asked, { role: "assistant", text: "", toolCalls: decision.toolCalls }, ...results]);
  expect(await second.reply).toMatchObject({ decision: { kind: "final", text: "1. r0\n2. r1" } });
});

test("an abort in the middle of a slow stream is seen by the server", async () => {
  await using model = await startScriptedModel({ script: slowScript(0, 500) });
  const abort = new AbortController();
  const { reply, events } = ask(model, [{ role: "user", text: "a long text to be repeated slowly" }], abort.signal);
  const cancelled = expect(reply).rejects.toMatchObject({ code: "CANCELLED" });
  await expect.poll(() => events.length).toBeGreaterThan(0);
  abort.abort();
  await cancelled;
  await expect.poll(() => model.requests[0]?.aborted).toBe(true);
});

test("scripts can fail, drop the connection, reason and be replaced", async () => {
  await using model = await startScriptedModel({ script: failingScript(503) });
  const asked: Message[] = [{ role: "user", text: "hi" }];
  await expect(ask(model, asked).reply).rejects.toMatchObject({ code: "UNAVAILABLE" });
  model.use(
    turnsScript([
      { text: "a text of some length", dropAfterChunks: 2 },
      { reasoning: "Hm.", text: "ok" },
    ]),
  );
  await expect(ask(model, asked).reply).rejects.toMatchObject({ code: "UNAVAILABLE" });
  const { reply, events } = ask(model, asked);
  expect(await reply).toMatchObject({ decision: { kind: "final", text: "ok" } });
  expect(events[0]).toEqual({ type: "reasoning", text: "Hm." });
  expect(model.requests.map((request) => request.status)).toEqual([503, 200, 200]);
});

test("embeds with the hash embedder and lists its models", async () => {
  await using model = await startScriptedModel();
  const options = { baseUrl: model.baseUrl, apiKey: model.apiKey, model: "e", dimensions: 512 };
  const [vector] = await createOpenAiEmbedder(options).embed(["退款流程"], "document");
  const expected = hashVector("退款流程");
  expect(vector?.every((value, at) => Math.abs(value - (expected[at] ?? 0)) < 1e-12)).toBe(true);
  expect((await post(model, "/embeddings", { model: "e", input: [""] })).status).toBe(400);
  const packed = await (await post(model, "/embeddings", { model: "e", input: "a", encoding_format: "base64" })).json();
  expect(Buffer.from((packed as { data: { embedding: string }[] }).data[0]?.embedding ?? "", "base64")).toHaveLength(
    2_048,
  );
  const models = await fetch(`${model.baseUrl}/models`, { headers: { authorization: "Bearer k" } });
  expect(await models.json()).toMatchObject({ object: "list", data: [{ id: "drover-scripted" }, {}] });
});
