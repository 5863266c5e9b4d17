import { subjects } from "@drover/bus";
import { newId } from "@drover/kernel";
import { openDatabase } from "@drover/postgres";
import { ExtractionOutcome, FactScope } from "@drover/proto/memory/v1/fact_service";
import { Role } from "@drover/proto/memory/v1/message";
import { type ScriptedModel, startScriptedModel, turnsScript } from "@drover/testkit/scripted-model";
import { sql } from "kysely";
import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { fresh, type MemoryUnderTest, startUnderTest } from "./harness.ts";

let model: ScriptedModel;
let memory: MemoryUnderTest;
beforeAll(async () => {
  model = await startScriptedModel();
  memory = await startUnderTest(undefined, {
    ...{ OPENAI_BASE_URL: model.baseUrl, OPENAI_API_KEY: model.apiKey, DROVER_MODEL: "gpt-4.1-mini" },
    MEMORY_MODEL_RETRIES: "0",
  });
});
afterAll(async () => {
  await memory?.[Symbol.asyncDispose]();
  await model?.[Symbol.asyncDispose]();
});
beforeEach(() => model.extractBy(({ length }) => ({ text: length > 0 ? '{"facts": []}' : "" })));

const { EXTRACTED, NOTHING, MALFORMED, DISABLED } = ExtractionOutcome;

interface Said {
  readonly conversationId: string;
  readonly taskId: string;
}

async function say(tenant: string, subject: string, text: string, said?: Said): Promise<Said> {
  const task = said ?? { conversationId: fresh("c"), taskId: newId() };
  const { conversationId, taskId } = task;
  const messages = [
    { role: Role.USER, text, pinned: true, taskId, clientMessageId: newId() },
    { role: Role.ASSISTANT, text: "Done.", taskId, clientMessageId: newId() },
  ];
  await memory.client.appendMessages({ conversationId, messages }, memory.as(tenant, subject));
  return task;
}

const answer = (...facts: object[]) => ({ text: JSON.stringify({ facts }) });
const add = (text: string, source: number, more: object = {}) => ({
  ...{ op: "add", scope: "user", text, importance: 80, source },
  ...more,
});
const extract = (tenant: string, subject: string, task: Said, agent = "") =>
  memory.facts.extractFacts({ ...task, agent }, memory.as(tenant, subject));
const texts = async (tenant: string, subject: string, more: object = {}) =>
  (await memory.facts.listFacts(more, memory.as(tenant, subject))).facts.map(({ text }) => text);

test("what was said becomes facts with their source, once for a task, and nobody else sees them", async () => {
  const task = await say("t1", "alice", "I live in Oslo.");
  model.extractBy(() => answer(add("Lives in Oslo.", 1)));
  const before = model.extractions.length;
  const first = await extract("t1", "alice", task);
  expect(first).toMatchObject({ outcome: EXTRACTED, added: 1, model: "gpt-4.1-mini", throughSequence: 2n });
  expect(first.usage?.inputTokens).toBeGreaterThan(0n);
  expect(first.usage?.costNanoUsd).toBeGreaterThan(0n);
  expect(await extract("t1", "alice", task)).toEqual(first);
  expect(model.extractions.length).toBe(before + 1);
  const { facts } = await memory.facts.listFacts({}, memory.as("t1", "alice"));
  expect(facts).toMatchObject([
    { text: "Lives in Oslo.", scope: FactScope.USER, subject: "alice", importance: 80, ...task, messageSequence: 1n },
  ]);
  expect([await texts("t1", "bob"), await texts("t2", "alice")]).toEqual([[], []]);
  const foreign = [extract("t1", "bob", task), extract("t2", "alice", task)];
  for (const call of foreign) await expect(call).rejects.toMatchObject({ code: "NOT_FOUND" });
  const factId = facts[0]?.id ?? "";
  for (const [tenant, subject] of [
    ["t1", "bob"],
    ["t2", "alice"],
  ] as const) {
    const call = memory.facts.deleteFact({ factId }, memory.as(tenant, subject));
    await expect(call).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
});

test("two who extract at once leave one record and its facts once, and both answers are paid for", async () => {
  const task = await say("race", "alice", "I live in Oslo.");
  model.extractBy(() => ({ ...answer(add("Lives in Oslo.", 1)), delayMs: 300 }));
  const [one, two] = await Promise.all([extract("race", "alice", task), extract("race", "alice", task)]);
  expect([one.added, two.added]).toEqual([1, 1]);
  expect(await texts("race", "alice")).toEqual(["Lives in Oslo."]);
  const { usage } = await extract("race", "alice", task);
  const paid = [one, two].map((each) => Number(each.usage?.inputTokens ?? 0n));
  expect(Number(usage?.inputTokens)).toBe(Math.max(...paid));
  expect(Math.max(...paid)).toBe(2 * Math.min(...paid));
});

test("a change is a new version, what was said since is looked at alone, and an end closes the fact", async () => {
  const task = await say("v", "alice", "I live in Oslo.");
  model.extractBy(() => answer(add("Lives in Oslo.", 1)));
  await extract("v", "alice", task);
  await say("v", "alice", "I have moved to Rome.", task);
  const said: unknown[] = [];
  model.extractBy((messages) => {
    const asked = JSON.parse(String(messages[1]?.content));
    said.push(
      asked.said.map(({ text }: { text: string }) => text),
      asked.known,
    );
    return answer({ op: "update", id: "f1", text: "Lives in Rome.", importance: 90, source: 3 });
  });
  expect(await extract("v", "alice", task)).toMatchObject({ updated: 1, throughSequence: 4n });
  expect(said).toEqual([
    ["I have moved to Rome.", "Done."],
    [{ id: "f1", scope: "user", text: "Lives in Oslo.", importance: 80 }],
  ]);
  const { facts } = await memory.facts.listFacts({ includeEnded: true }, memory.as("v", "alice"));
  expect(facts.map(({ text, validTo, supersededBy }) => [text, validTo === undefined, supersededBy])).toEqual([
    ["Lives in Rome.", true, ""],
    ["Lives in Oslo.", false, facts[0]?.id],
  ]);
  const other = await say("v", "alice", "I left Rome.");
  model.extractBy(() => answer({ op: "delete", id: "f1", source: 1 }));
  expect(await extract("v", "alice", other)).toMatchObject({ ended: 1 });
  expect(await texts("v", "alice")).toEqual([]);
});

test("what its person forgets goes with its versions and does not come back", async () => {
  model.extractBy(() => answer(add("Likes tea.", 1), add("Likes rain.", 1)));
  await extract("f", "alice", await say("f", "alice", "I like tea and rain."));
  model.extractBy(() => answer({ op: "update", id: "f1", text: "Likes snow.", importance: 80, source: 1 }));
  await extract("f", "alice", await say("f", "alice", "I like snow now."));
  const { facts } = await memory.facts.listFacts({}, memory.as("f", "alice"));
  const changed = facts.find(({ text }) => text === "Likes snow.");
  const factId = changed?.id ?? "";
  expect(await memory.facts.deleteFact({ factId }, memory.as("f", "alice"))).toMatchObject({ removed: 2 });
  const again = memory.facts.deleteFact({ factId }, memory.as("f", "alice"));
  await expect(again).rejects.toMatchObject({ code: "NOT_FOUND" });
  model.extractBy(() => answer(add("likes  SNOW", 1), add("Likes wind.", 1)));
  expect(await extract("f", "alice", await say("f", "alice", "snow"))).toMatchObject({ added: 1, refused: 1 });
  expect(await texts("f", "alice", { includeEnded: true })).toHaveLength(2);
});

test("an agent's facts are of that agent, and a secret is no fact", async () => {
  model.extractBy(() =>
    answer(
      add("Wants short replies.", 1, { scope: "agent" }),
      add("Uses Bearer abcdefghijklmnopqrstuvwxyz0123456789", 1),
    ),
  );
  const task = await say("a", "alice", "Be short.");
  expect(await extract("a", "alice", task, "writer")).toMatchObject({ added: 1, refused: 1 });
  const { facts } = await memory.facts.listFacts({ scope: FactScope.AGENT }, memory.as("a", "alice"));
  expect(facts).toMatchObject([{ scope: FactScope.AGENT, agent: "writer", text: "Wants short replies." }]);
  expect(await texts("a", "alice", { agent: "reader" })).toEqual([]);
});

test("an answer that cannot be read is asked for once more; then it is recorded, and not asked for again", async () => {
  const task = await say("m", "alice", "I live in Oslo.");
  model.extractBy(turnsScript([{ text: "Here you go!" }, answer(add("Lives in Oslo.", 1))]));
  expect(await extract("m", "alice", task)).toMatchObject({ outcome: EXTRACTED, added: 1 });
  const other = await say("m", "alice", "I work.");
  model.extractBy(() => ({ text: '{"facts": [{"op": "add"}]}' }));
  const before = model.extractions.length;
  const bad = await extract("m", "alice", other);
  expect(bad).toMatchObject({ outcome: MALFORMED, added: 0, fault: expect.stringContaining("the fields of add") });
  expect(await extract("m", "alice", other)).toEqual(bad);
  expect(model.extractions.length).toBe(before + 2);
});

test("a model that is away is an error that passes, and nothing is recorded", async () => {
  const task = await say("away", "alice", "I live in Oslo.");
  model.extractBy(() => ({ status: 503, errorMessage: "down" }));
  await expect(extract("away", "alice", task)).rejects.toMatchObject({ code: "UNAVAILABLE" });
  model.extractBy(() => answer(add("Lives in Oslo.", 1)));
  expect(await extract("away", "alice", task)).toMatchObject({ outcome: EXTRACTED, added: 1 });
});

test("a cancel of the task ends its extraction", async () => {
  const task = await say("stop", "alice", "I live in Oslo.");
  model.extractBy(() => ({ ...answer(add("Lives in Oslo.", 1)), delayMs: 30_000 }));
  const before = model.extractions.length;
  const extracting = extract("stop", "alice", task).then(
    () => expect.unreachable("it should have been cancelled"),
    (error: unknown) => error,
  );
  await vi.waitUntil(() => model.extractions.length > before);
  memory.bus.publish(subjects.cancel("stop", task.taskId), new Uint8Array());
  expect(await extracting).toMatchObject({ code: "CANCELLED", reason: "TASK_CANCELLED" });
  expect(await texts("stop", "alice")).toEqual([]);
});

test("a task without words of a person asks no model, and a page follows a page", async () => {
  const conversationId = fresh("c");
  await memory.client.appendMessages(
    { conversationId, messages: [{ role: Role.USER, text: "hi" }] },
    memory.as("p", "alice"),
  );
  const before = model.extractions.length;
  expect(await extract("p", "alice", { conversationId, taskId: newId() })).toMatchObject({ outcome: NOTHING });
  expect(model.extractions.length).toBe(before);
  model.extractBy(() => answer(...["A", "B", "C"].map((text) => add(text, 1))));
  await extract("p", "alice", await say("p", "alice", "three"));
  const one = await memory.facts.listFacts({ pageSize: 2 }, memory.as("p", "alice"));
  const two = await memory.facts.listFacts({ pageSize: 2, pageToken: one.nextPageToken }, memory.as("p", "alice"));
  expect([one.facts.length, two.facts.length, two.nextPageToken]).toEqual([2, 1, ""]);
});

test("erasing a conversation takes its facts, all versions of them, and says so; tombstones go with their person", async () => {
  model.extractBy(() => answer(add("Lives in Oslo.", 1), add("Likes tea.", 1)));
  const gone = await say("e", "alice", "I live in Oslo and like tea.");
  await extract("e", "alice", gone);
  model.extractBy(() => answer({ op: "update", id: "f1", text: "Likes rain.", importance: 80, source: 1 }));
  await extract("e", "alice", await say("e", "alice", "rain"));
  const receipt = await memory.erasure.erase({ conversationIds: [gone.conversationId] }, memory.as("e", "officer"));
  expect(receipt).toMatchObject({ removed: 4n });
  expect(await texts("e", "alice", { includeEnded: true })).toEqual([]);
  model.extractBy(() => answer(add("Has a cat.", 1)));
  await extract("e", "alice", await say("e", "alice", "cat"));
  const [fact] = (await memory.facts.listFacts({}, memory.as("e", "alice"))).facts;
  await memory.facts.deleteFact({ factId: fact?.id ?? "" }, memory.as("e", "alice"));
  await memory.erasure.erase({ subject: "alice" }, memory.as("e", "officer"));
  await using db = openDatabase<Record<never, never>>({ url: memory.databaseUrl, service: "memory" });
  const count = async (table: string) =>
    await db.withTenant("e", async (tx) => (await sql`SELECT FROM ${sql.table(table)}`.execute(tx)).rows.length);
  expect([await count("fact"), await count("fact_tombstone"), await count("extraction")]).toEqual([0, 0, 0]);
});

test("without a model extraction is off and says so", async () => {
  await using off = await startUnderTest(memory.databaseUrl);
  const response = await off.facts.extractFacts({ conversationId: "c", taskId: "t" }, off.as("x"));
  expect(response.outcome).toBe(DISABLED);
});
