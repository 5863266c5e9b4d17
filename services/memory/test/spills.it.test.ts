import { Role } from "@drover/proto/memory/v1/message";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fresh, type MemoryUnderTest, startUnderTest } from "./harness.ts";

let memory: MemoryUnderTest;
beforeAll(async () => {
  memory = await startUnderTest();
});
afterAll(() => memory[Symbol.asyncDispose]());

const log = Array.from({ length: 2100 }, (_, n) => `${n} 网关 time-out 😀\n`)
  .join("")
  .slice(0, 40_212);

function turn(callId: string, text: string, spillPointer = "") {
  return [
    { role: Role.USER, text: "look" },
    { role: Role.ASSISTANT, toolCalls: [{ callId, name: "read_log", argumentsJson: "{}" }] },
    { role: Role.TOOL, toolCallId: callId, text, spillPointer },
  ];
}

async function readAll(conversationId: string, pointer: string): Promise<string> {
  let text = "";
  for (;;) {
    const view = await memory.client.readSpill(
      { conversationId, pointer, offset: BigInt(text.length) },
      memory.as("t1"),
    );
    expect(view.text.length).toBeLessThanOrEqual(8000);
    text += view.text;
    if (view.nextOffset >= view.totalCharacters) return text;
  }
}

async function* parts(conversationId: string, callId: string, text: string, size = 60_000) {
  yield { part: { case: "header" as const, value: { conversationId, callId } } };
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size) {
    yield { part: { case: "chunk" as const, value: bytes.subarray(at, at + size) } };
  }
}

describe("a tool result over the threshold", () => {
  it("is replaced by a preview that says what was cut, and can be read to the last character", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    expect(log).toHaveLength(40_212);
    const { messages } = await client.appendMessages({ conversationId, messages: turn("a", log) }, as("t1"));
    const result = messages[2];
    const pointer = `spill://${conversationId}/a`;
    expect(result).toMatchObject({ spillPointer: pointer, fullCharacters: 40_212n });
    expect(result?.text.startsWith(log.slice(0, 2000))).toBe(true);
    expect(result?.text).toContain("of 40,212 characters");
    expect(result?.text).toContain(pointer);
    expect(result?.text).toContain("read_spill");
    expect(result?.text.length).toBeLessThan(2400);
    expect(await readAll(conversationId, pointer)).toBe(log);
    const tail = await client.readSpill({ conversationId, pointer, offset: -5n, length: 100 }, as("t1"));
    expect([tail.text, tail.offset]).toEqual([log.slice(-5), 40_207n]);
    const context = await client.buildContext({ conversationId }, as("t1"));
    expect(context.budget?.messagesSpilled).toBe(1);
  });

  it("of exactly the threshold stays in the log; one character more does not", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    await client.appendMessages({ conversationId, messages: turn("a", "x".repeat(32_000)) }, as("t1"));
    await client.appendMessages({ conversationId, messages: turn("b", "x".repeat(32_001)) }, as("t1"));
    const { messages } = await client.listMessages({ conversationId }, as("t1"));
    expect(messages.map((m) => m.spillPointer)).toEqual(["", "", "", "", "", `spill://${conversationId}/b`]);
    expect(await readAll(conversationId, `spill://${conversationId}/a`)).toBe("x".repeat(32_000));
  });
});

describe("PutSpill", () => {
  it("stores a large body that a message can then name, and is idempotent", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    const body = "ligne é\n".repeat(800_000);
    const put = () => client.putSpill(parts(conversationId, "a", body, 1_000_000), as("t1"));
    const placed = await put();
    expect(placed).toMatchObject({
      pointer: `spill://${conversationId}/a`,
      sizeBytes: 7_200_000n,
      characters: 6_400_000n,
    });
    expect(placed.preview).toBe(body.slice(0, 2048));
    expect(await put()).toEqual(placed);
    await expect(client.putSpill(parts(conversationId, "a", "other"), as("t1"))).rejects.toMatchObject({
      code: "ALREADY_EXISTS",
    });
    const messages = turn("a", "preview", placed.pointer);
    await client.appendMessages({ conversationId, messages }, as("t1"));
    const end = await client.readSpill({ conversationId, pointer: placed.pointer, offset: -8n }, as("t1"));
    expect(end).toMatchObject({ text: "ligne é\n", nextOffset: 6_400_000n, totalCharacters: 6_400_000n });
  });

  it("refuses what is no text, what has no header, and what is too large", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    async function* of(...chunks: Uint8Array[]) {
      yield { part: { case: "header" as const, value: { conversationId, callId: "a" } } };
      for (const value of chunks) yield { part: { case: "chunk" as const, value } };
    }
    async function* headless() {
      yield { part: { case: "chunk" as const, value: new Uint8Array([97]) } };
    }
    await expect(client.putSpill(of(new Uint8Array([0xff])), as("t1"))).rejects.toMatchObject({
      violations: [expect.objectContaining({ field: "chunk" })],
    });
    await expect(client.putSpill(headless(), as("t1"))).rejects.toMatchObject({
      violations: [expect.objectContaining({ field: "header" })],
    });
    const megabytes = Array.from({ length: 65 }, () => new Uint8Array(1024 ** 2).fill(97));
    await expect(client.putSpill(of(...megabytes), as("t1"))).rejects.toMatchObject({
      code: "RESOURCE_EXHAUSTED",
      reason: "SPILL_TOO_LARGE",
    });
  });

  it("gives pointers that resolve within their conversation and tenant only", async () => {
    const { client, as } = memory;
    const [conversationId, other] = [fresh("c"), fresh("c")];
    const { pointer } = await client.putSpill(parts(conversationId, "a", "secret"), as("t1"));
    await client.appendMessages({ conversationId: other, messages: turn("z", "z") }, as("t1"));
    const read = (within: string, options = as("t1")) => client.readSpill({ conversationId: within, pointer }, options);
    expect((await read(conversationId)).text).toBe("secret");
    await expect(read(other)).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(read(conversationId, as("t2"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(read(conversationId, as("t1", "bob"))).rejects.toMatchObject({ code: "NOT_FOUND" });
    await expect(
      client.appendMessages({ conversationId: other, messages: turn("y", "cut", pointer) }, as("t1")),
    ).rejects.toMatchObject({ violations: [expect.objectContaining({ field: "messages[2].spill_pointer" })] });
    await expect(client.readSpill({ conversationId, pointer, length: 8001 }, as("t1"))).rejects.toMatchObject({
      violations: [expect.objectContaining({ field: "length" })],
    });
  });
});
