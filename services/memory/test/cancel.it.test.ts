import { subjects } from "@drover/bus";
import { newId } from "@drover/kernel";
import { openDatabase } from "@drover/postgres";
import { Role } from "@drover/proto/memory/v1/message";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fresh, type MemoryUnderTest, startUnderTest } from "./harness.ts";

let memory: MemoryUnderTest;
beforeAll(async () => {
  memory = await startUnderTest();
});
afterAll(() => memory?.[Symbol.asyncDispose]());

const words = (text: string) => ({ role: Role.USER, text, clientMessageId: text });

test("a cancel heard on the bus ends the making of a context, and the task's record can still be written", async () => {
  const { client, bus } = memory;
  const conversationId = fresh("c");
  const taskId = newId();
  await using database = openDatabase<Record<never, never>>({ url: memory.databaseUrl, service: "memory", poolMax: 2 });
  const locked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = database.withTenant("t1", async (tx) => {
    await sql`LOCK TABLE memory.message IN ACCESS EXCLUSIVE MODE`.execute(tx);
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  const options = memory.as("t1", "alice", undefined, taskId);
  const building = client.buildContext({ conversationId, append: [words("go")] }, options).then(
    () => expect.unreachable("the context should not have been made"),
    (error: unknown) => error,
  );
  const cancelling = setInterval(() => bus.publish(subjects.cancel("t1", taskId), new Uint8Array()), 50);
  expect(await building).toMatchObject({ code: "CANCELLED", reason: "TASK_CANCELLED" });
  clearInterval(cancelling);
  release.resolve();
  await holding;
  await client.appendMessages({ conversationId, messages: [words("go"), words("it was cancelled")] }, options);
  const { messages } = await client.listMessages({ conversationId }, options);
  expect(messages.map((message) => message.text)).toEqual(["go", "it was cancelled"]);
});
