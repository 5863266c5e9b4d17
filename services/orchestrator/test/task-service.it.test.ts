import { DroverError, newId } from "@drover/kernel";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { Mode } from "@drover/proto/orchestrator/v1/task";
import { echoScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, eventsOf, type Harness, type Replica, startHarness, submit } from "./harness.ts";

let harness: Harness;
let replica: Replica;
beforeAll(async () => {
  harness = await startHarness(echoScript);
  replica = await harness.orchestrator();
});
afterAll(async () => {
  await replica?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

async function refusal(work: Promise<unknown>): Promise<DroverError> {
  const error = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(DroverError);
  return error as DroverError;
}

test("twenty submissions at once with one request id are one task; another body is ALREADY_EXISTS", async () => {
  const as = replica.as("acme");
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => replica.client.submitTask({ requestId: "r-1", prompt: "Once" }, as)),
  );
  expect(new Set(answers.map(({ task }) => task?.id)).size).toBe(1);
  const other = await refusal(replica.client.submitTask({ requestId: "r-1", prompt: "Twice" }, as));
  expect([other.code, other.reason]).toEqual(["ALREADY_EXISTS", "REQUEST_ID_TAKEN"]);
  const elsewhere = await replica.client.submitTask({ requestId: "r-1", prompt: "Twice" }, replica.as("other"));
  expect(elsewhere.task?.id).not.toBe(answers[0]?.task?.id);
});

test("what is wrong with a submission is told by field, found and allowed", async () => {
  const as = replica.as("acme");
  const several = await refusal(replica.client.submitTask({ prompt: "", mode: Mode.PSE, maxRounds: 51 }, as));
  expect(several.code).toBe("INVALID_ARGUMENT");
  expect(several.violations.map((v) => v.field)).toEqual(["prompt", "mode", "max_rounds"]);
  expect(several.violations[1]).toMatchObject({ found: "MODE_PSE, which is not offered yet" });
  const unknown = await refusal(replica.client.submitTask({ prompt: "x", mode: 99 as never }, as));
  expect(unknown.violations).toMatchObject([{ field: "mode", found: "99, which names no mode" }]);
  const long = await refusal(replica.client.submitTask({ prompt: "x".repeat(100_001) }, as));
  expect(long.violations).toMatchObject([{ field: "prompt", allowed: "1 to 100000 characters" }]);
});

test("every rpc that takes an id answers NOT_FOUND across tenants, and INVALID_ARGUMENT for no id at all", async () => {
  const { id: taskId } = await submit(replica, "acme", "Mine");
  const { client } = replica;
  const calls = (id: string, as: ReturnType<Replica["as"]>) => [
    () => client.getTask({ taskId: id }, as),
    () => client.cancelTask({ taskId: id }, as),
    async () => {
      for await (const _ of client.watchTask({ taskId: id }, as));
    },
  ];
  for (const call of calls(taskId, replica.as("other"))) expect((await refusal(call())).code).toBe("NOT_FOUND");
  for (const call of calls(newId(), replica.as("acme"))) expect((await refusal(call())).code).toBe("NOT_FOUND");
  for (const call of calls("a.*.>", replica.as("acme"))) expect((await refusal(call())).code).toBe("INVALID_ARGUMENT");
  expect((await client.listTasks({}, replica.as("nobody"))).tasks).toEqual([]);
});

test("a caller without the scope is refused", async () => {
  const error = await refusal(replica.client.submitTask({ prompt: "x" }, replica.as("acme", ["tasks:read"])));
  expect(error.code).toBe("PERMISSION_DENIED");
});

test("lists come in pages, newest first, by state; a token of another filter is refused", async () => {
  const as = replica.as("pages");
  const tasks = [];
  for (let i = 0; i < 5; i++) tasks.unshift(await submit(replica, "pages", `Task ${i}`));
  for (const task of tasks) await ended(replica, "pages", task.id);
  const first = await replica.client.listTasks({ pageSize: 3 }, as);
  const second = await replica.client.listTasks({ pageSize: 3, pageToken: first.nextPageToken }, as);
  expect([...first.tasks, ...second.tasks].map((t) => t.id)).toEqual(tasks.map((t) => t.id));
  expect(second.nextPageToken).toBe("");
  const states = [TaskState.SUCCEEDED];
  expect((await replica.client.listTasks({ states }, as)).tasks).toHaveLength(5);
  const mixed = await refusal(replica.client.listTasks({ states, pageToken: first.nextPageToken }, as));
  expect(mixed.violations[0]?.field).toBe("page_token");
  const bad = await refusal(replica.client.listTasks({ states: [42 as never] }, as));
  expect(bad.violations[0]).toMatchObject({ field: "states[0]", found: "42" });
});

test("a sequence that is not there yet is refused; at the end a watch ends at once", async () => {
  const { id } = await submit(replica, "acme", "Watch");
  const events = await eventsOf(replica, "acme", id);
  const future = await refusal(eventsOf(replica, "acme", id, BigInt(events.length + 1)));
  expect(future.violations[0]?.field).toBe("after_sequence");
  expect((await refusal(eventsOf(replica, "acme", id, -1n))).code).toBe("INVALID_ARGUMENT");
  expect(await eventsOf(replica, "acme", id, BigInt(events.length))).toEqual([]);
});
