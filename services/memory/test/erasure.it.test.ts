import { openDatabase } from "@drover/postgres";
import { Role } from "@drover/proto/memory/v1/message";
import { afterAll, beforeAll, expect, test } from "vitest";
import { fresh, type MemoryUnderTest, startUnderTest } from "./harness.ts";

let memory: MemoryUnderTest;
beforeAll(async () => {
  memory = await startUnderTest();
});
afterAll(() => memory[Symbol.asyncDispose]());

const text = "a long result ".repeat(4_000);
const turn = [
  { role: Role.USER, text: "look" },
  { role: Role.ASSISTANT, toolCalls: [{ callId: "c", name: "read_log", argumentsJson: "{}" }] },
  { role: Role.TOOL, toolCallId: "c", text },
];

async function conversation(tenant: string, subject: string): Promise<string> {
  const conversationId = fresh("c");
  await memory.client.appendMessages({ conversationId, messages: turn }, memory.as(tenant, subject));
  return conversationId;
}

const there = (tenant: string, subject: string, conversationId: string) =>
  memory.client.listMessages({ conversationId }, memory.as(tenant, subject)).then(
    ({ messages }) => messages.length,
    () => 0,
  );

async function bodies(tenant: string): Promise<number> {
  await using db = openDatabase<{ blob: { tenant_id: string } }>({ url: memory.databaseUrl, service: "memory" });
  return await db.withTenant(tenant, async (tx) => (await tx.selectFrom("blob").select("tenant_id").execute()).length);
}

test("a conversation goes with its spills and their bodies, and no other with it", async () => {
  const gone = await conversation("a", "alice");
  const stays = await conversation("a", "alice");
  expect(await bodies("a")).toBe(2);
  const foreign = await memory.erasure.erase({ conversationIds: [gone] }, memory.as("b"));
  expect(foreign).toMatchObject({ removed: 0n, more: false });
  expect(await there("a", "alice", gone)).toBe(3);
  const answer = await memory.erasure.erase({ conversationIds: [gone] }, memory.as("a", "officer"));
  expect(answer).toMatchObject({ removed: 2n, more: false });
  expect(await memory.erasure.erase({ conversationIds: [gone] }, memory.as("a"))).toMatchObject({ removed: 0n });
  expect([await there("a", "alice", gone), await there("a", "alice", stays), await bodies("a")]).toEqual([0, 3, 1]);
});

test("what somebody began goes, and what others began stays", async () => {
  const hers = await conversation("users", "alice");
  const his = await conversation("users", "bob");
  await memory.erasure.erase({ subject: "alice" }, memory.as("users", "officer"));
  expect([await there("users", "alice", hers), await there("users", "bob", his)]).toEqual([0, 3]);
});

test("a whole tenant goes a part at a time, and its neighbour stays", async () => {
  for (let i = 0; i < 25; i++) await conversation("whole", "alice");
  const neighbour = await conversation("neighbour", "alice");
  const parts: boolean[] = [];
  do {
    parts.push((await memory.erasure.erase({ wholeTenant: true }, memory.as("whole"))).more);
  } while (parts.at(-1) === true);
  expect(parts).toEqual([true, false]);
  expect(await bodies("whole")).toBe(0);
  expect(await there("neighbour", "alice", neighbour)).toBe(3);
});

test("what is wrong with a request is told by field", async () => {
  const bad = memory.erasure.erase({ taskIds: Array(1_001).fill("x"), traceIds: [""] }, memory.as("a"));
  const fields = await bad.then(
    () => [],
    (error: { violations?: { field: string }[] }) => error.violations?.map(({ field }) => field),
  );
  expect(fields).toEqual(["task_ids", "trace_ids"]);
});
