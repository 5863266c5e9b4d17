import { Role } from "@drover/proto/memory/v1/message";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { fresh, type MemoryUnderTest, startUnderTest } from "./harness.ts";

let memory: MemoryUnderTest;
beforeAll(async () => {
  memory = await startUnderTest();
});
afterAll(() => memory[Symbol.asyncDispose]());

const user = (text: string, clientMessageId = "") => ({ role: Role.USER, text, clientMessageId });
const asking = (...callIds: string[]) => ({
  role: Role.ASSISTANT,
  toolCalls: callIds.map((callId) => ({ callId, name: "run_code", argumentsJson: "{}" })),
});
const answer = (toolCallId: string, text: string) => ({ role: Role.TOOL, toolCallId, text });

describe("AppendMessages", () => {
  it("numbers without a gap and gives back what a repeated key stored", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    const first = await client.appendMessages({ conversationId, messages: [user("a", "1"), user("b", "2")] }, as("t1"));
    const again = await client.appendMessages({ conversationId, messages: [user("b", "2"), user("c", "3")] }, as("t1"));
    expect(first.messages.map((m) => m.sequence)).toEqual([1n, 2n]);
    expect(again.messages.map((m) => m.sequence)).toEqual([2n, 3n]);
    expect(again.messages[0]?.id).toBe(first.messages[1]?.id);
    await expect(
      client.appendMessages({ conversationId, messages: [user("other", "2")] }, as("t1")),
    ).rejects.toMatchObject({ code: "ALREADY_EXISTS", reason: "MESSAGE_EXISTS" });
  });

  it("writes twenty identical appends at once one time", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    const messages = [user("task", "t/1"), asking("call-1"), answer("call-1", "done")].map((message, index) => ({
      ...message,
      clientMessageId: `t/${index}`,
    }));
    const replies = await Promise.all(
      Array.from({ length: 20 }, () => client.appendMessages({ conversationId, messages }, as("t1"))),
    );
    expect(new Set(replies.map((reply) => reply.messages.map((m) => m.id).join())).size).toBe(1);
    const { messages: stored } = await client.listMessages({ conversationId }, as("t1"));
    expect(stored.map((m) => m.sequence)).toEqual([1n, 2n, 3n]);
  });

  it("keeps the sequence whole under parallel appends of different content", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    const one = (n: number) => client.appendMessages({ conversationId, messages: [user(`m${n}`, `k${n}`)] }, as("t1"));
    await Promise.all(Array.from({ length: 30 }, (_, n) => one(n)));
    const { messages } = await client.listMessages({ conversationId }, as("t1"));
    expect(messages.map((m) => Number(m.sequence))).toEqual(Array.from({ length: 30 }, (_, n) => n + 1));
  });

  it("is idempotent by call id where there is no key, and refuses what would break a context", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    await client.appendMessages({ conversationId, messages: [user("q"), asking("a"), answer("a", "r")] }, as("t1"));
    const again = await client.appendMessages({ conversationId, messages: [answer("a", "r")] }, as("t1"));
    expect(again.messages[0]?.sequence).toBe(3n);
    const refused = (messages: object[]) => client.appendMessages({ conversationId, messages }, as("t1"));
    await expect(refused([answer("a", "else")])).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
    await expect(refused([answer("nobody", "r")])).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      violations: [expect.objectContaining({ field: "messages[0].tool_call_id" })],
    });
    await expect(refused([asking("a")])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(refused([{ role: Role.ASSISTANT }])).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
    await expect(refused([{ text: "x" }])).rejects.toMatchObject({
      violations: [expect.objectContaining({ field: "messages[0].role" })],
    });
  });

  it("stores what Postgres cannot hold in a form that it can", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    await client.appendMessages({ conversationId, messages: [user("a\u0000b")] }, as("t1"));
    const { messages } = await client.listMessages({ conversationId }, as("t1"));
    expect(messages[0]?.text).toBe("a\u2400b");
  });
});

describe("ownership", () => {
  it("hides a conversation from other tenants and other subjects alike", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    await client.appendMessages({ conversationId, messages: [user("secret")] }, as("t1", "alice"));
    for (const stranger of [as("t2", "alice"), as("t1", "bob")]) {
      await expect(client.listMessages({ conversationId }, stranger)).rejects.toMatchObject({ code: "NOT_FOUND" });
      await expect(client.buildContext({ conversationId }, stranger)).rejects.toMatchObject({ code: "NOT_FOUND" });
      await expect(
        client.readSpill({ conversationId, pointer: `spill://${conversationId}/x` }, stranger),
      ).rejects.toMatchObject({ code: "NOT_FOUND" });
    }
    await expect(
      client.appendMessages({ conversationId, messages: [user("mine")] }, as("t1", "bob")),
    ).rejects.toMatchObject({ code: "NOT_FOUND" });
    // Another tenant may use the same name for a conversation of its own.
    await client.appendMessages({ conversationId, messages: [user("mine")] }, as("t2"));
    const { messages } = await client.listMessages({ conversationId }, as("t1", "alice"));
    expect(messages.map((m) => m.text)).toEqual(["secret"]);
  });
});

describe("ListMessages", () => {
  it("pages in order and refuses a token of another list", async () => {
    const { client, as } = memory;
    const conversationId = fresh("c");
    const messages = Array.from({ length: 7 }, (_, n) => user(`m${n}`));
    await client.appendMessages({ conversationId, messages }, as("t1"));
    const seen: string[] = [];
    let pageToken = "";
    do {
      const page = await client.listMessages({ conversationId, pageSize: 3, pageToken }, as("t1"));
      seen.push(...page.messages.map((m) => m.text));
      pageToken = page.nextPageToken;
    } while (pageToken !== "");
    expect(seen).toEqual(messages.map((m) => m.text));
    const page = await client.listMessages({ conversationId, pageSize: 3 }, as("t1"));
    await client.appendMessages({ conversationId: "elsewhere", messages: [user("x")] }, as("t1"));
    await expect(
      client.listMessages({ conversationId: "elsewhere", pageToken: page.nextPageToken }, as("t1")),
    ).rejects.toMatchObject({ code: "INVALID_ARGUMENT" });
  });
});

describe("the admin server", () => {
  it("is ready while the database answers", async () => {
    const response = await fetch(`http://${memory.adminAddress}/readyz`);
    expect([response.status, await response.json()]).toEqual([
      200,
      { ready: true, checks: { postgres: "ok", bus: "ok" } },
    ]);
  });
});
