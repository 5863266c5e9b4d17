import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbeddedPostgres } from "@drover/postgres";
import { Role } from "@drover/proto/memory/v1/message";
import { expect, it } from "vitest";
import { startUnderTest } from "./harness.ts";

it("works on the embedded database, with calls side by side and after a restart", async () => {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(path.join(tmpdir(), "drover-memory-"));
  stack.defer(() => rm(dataDir, { recursive: true, force: true }));
  const database = stack.use(await startEmbeddedPostgres({ dataDir }));
  const log = "x".repeat(40_212);
  {
    await using memory = await startUnderTest(database.url);
    const { client, as } = memory;
    await Promise.all(
      ["c1", "c2", "c3", "c4"].flatMap((conversationId) =>
        [1, 2, 3].map((n) =>
          client.appendMessages(
            { conversationId, messages: [{ role: Role.USER, text: `m${n}`, clientMessageId: `k${n}` }] },
            as("t1"),
          ),
        ),
      ),
    );
    const toolCalls = [{ callId: "a", name: "read_log", argumentsJson: "{}" }];
    const append = [
      { role: Role.ASSISTANT, toolCalls },
      { role: Role.TOOL, toolCallId: "a", text: log },
    ];
    const context = await client.buildContext({ conversationId: "c1", append }, as("t1"));
    expect(context.messages).toHaveLength(5);
    await expect(client.listMessages({ conversationId: "c1" }, as("t2"))).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
  await using again = await startUnderTest(database.url);
  const { client, as } = again;
  const { messages } = await client.listMessages({ conversationId: "c1" }, as("t1"));
  expect(messages.map((m) => Number(m.sequence))).toEqual([1, 2, 3, 4, 5]);
  const end = await client.readSpill({ conversationId: "c1", pointer: "spill://c1/a", offset: -3n }, as("t1"));
  expect(end).toMatchObject({ text: "xxx", totalCharacters: 40_212n });
});
