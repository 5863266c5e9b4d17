import { DroverError, newId } from "@drover/kernel";
import { callsScript, echoScript, type Script } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, eventsOf, type Harness, type Replica, startHarness, stateName, submit, until } from "./harness.ts";

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

const code = (text: string) => ({ name: "run_code", arguments: { language: "python", code: text } });

async function refusal(work: Promise<unknown>): Promise<string[]> {
  const error = await work.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(DroverError);
  const { code: found, reason } = error as DroverError;
  return [found, reason];
}

const resume = (tenant: string, taskId: string, fields = {}) =>
  replica.client.resumeTask({ taskId, ...fields }, replica.as(tenant));

/** A task whose first call has its result, and that was cancelled in its second. */
async function cancelledInTheMiddle(tenant: string): Promise<string> {
  harness.model.use(callsScript([code("print first"), code("sleep 600000")]));
  const before = harness.peers.begun.length;
  // Two calls of one turn: the second holds the task.
  const { id } = await submit(replica, tenant, "Go on later");
  await until(() => harness.peers.begun.length === before + 2);
  await replica.client.cancelTask({ taskId: id }, replica.as(tenant));
  expect(stateName((await ended(replica, tenant, id)).state)).toBe("CANCELLED");
  return id;
}

test("a cancelled task goes on under its id from its last step, and nothing is done again", async () => {
  const id = await cancelledInTheMiddle("resume");
  const begun = harness.peers.begun.length;
  const before = await eventsOf(replica, "resume", id);
  harness.model.use((messages) => ({
    text: `went on with ${messages.filter((m) => m.role === "tool").length} results`,
  }));
  const { task } = await resume("resume", id);
  expect([task?.id, stateName(task?.state ?? 0), task?.resumes]).toEqual([id, "RUNNING", 1]);
  const events = await eventsOf(replica, "resume", id);
  expect(events.slice(0, before.length)).toEqual(before);
  expect(events.map((event) => Number(event.sequence))).toEqual(events.map((_, index) => index + 1));
  const done = await ended(replica, "resume", id);
  expect([stateName(done.state), done.failureReason, done.cancelRequested]).toEqual(["SUCCEEDED", "", false]);
  expect(done.answer).toContain("went on with 2 results");
  expect(harness.peers.begun.length).toBe(begun);
});

test("a task that ran out of its rounds goes on with more of them", async () => {
  const asks: Script = (messages) =>
    messages.filter((m) => m.role === "tool").length < 2 ? { toolCalls: [code("print more")] } : { text: "enough now" };
  harness.model.use(asks);
  const { id } = await submit(replica, "budget", "Needs two rounds", { maxRounds: 1 });
  const failed = await ended(replica, "budget", id);
  expect(stateName(failed.state)).toBe("FAILED");
  const { task } = await resume("budget", id, { budgets: { maxRounds: 9, maxTokens: 5_000_000n } });
  expect([task?.budgets?.maxRounds, task?.budgets?.maxTokens]).toEqual([9, 5_000_000n]);
  const done = await ended(replica, "budget", id);
  expect([stateName(done.state), done.failureReason, done.answer]).toEqual(["SUCCEEDED", "", "enough now"]);
  expect(done.usage?.inputTokens).toBeGreaterThan(failed.usage?.inputTokens ?? 0n);
});

test("what cannot be resumed says why", async () => {
  harness.model.use((messages) => (messages.length > 0 ? { toolCalls: [code("sleep 600000")] } : { text: "" }));
  const running = await submit(replica, "refused", "Runs");
  expect(await refusal(resume("refused", running.id))).toEqual(["FAILED_PRECONDITION", "TASK_RUNNING"]);
  await replica.client.cancelTask({ taskId: running.id }, replica.as("refused"));
  const { version } = await ended(replica, "refused", running.id);
  const stale = resume("refused", running.id, { expectedVersion: version + 1n });
  expect(await refusal(stale)).toEqual(["ABORTED", "VERSION_MISMATCH"]);
  expect((await refusal(resume("refused", running.id, { expectedVersion: -1n })))[0]).toBe("INVALID_ARGUMENT");
  expect((await refusal(resume("refused", running.id, { budgets: { maxRounds: 51 } })))[0]).toBe("INVALID_ARGUMENT");
  expect(await refusal(resume("somebody-else", running.id))).toEqual(["NOT_FOUND", "TASK_NOT_FOUND"]);
  expect((await refusal(resume("refused", newId())))[0]).toBe("NOT_FOUND");
  harness.model.use(echoScript);
  const done = await submit(replica, "refused", "Succeeds");
  await ended(replica, "refused", done.id);
  expect(await refusal(resume("refused", done.id))).toEqual(["FAILED_PRECONDITION", "TASK_SUCCEEDED"]);
});

test("twenty resumptions at once with one request id are one; another body is ALREADY_EXISTS", async () => {
  const id = await cancelledInTheMiddle("repeat");
  harness.model.use(echoScript);
  const { version } = await ended(replica, "repeat", id);
  const wish = { requestId: "again", expectedVersion: version };
  await Promise.all(Array.from({ length: 20 }, () => resume("repeat", id, wish)));
  const done = await ended(replica, "repeat", id);
  expect([stateName(done.state), done.resumes]).toEqual(["SUCCEEDED", 1]);
  expect((await resume("repeat", id, wish)).task?.resumes).toBe(1);
  const other = resume("repeat", id, { ...wish, budgets: { maxRounds: 3 } });
  expect(await refusal(other)).toEqual(["ALREADY_EXISTS", "REQUEST_ID_TAKEN"]);
});

test("a cancel for another version is ABORTED and changes nothing", async () => {
  harness.model.use((messages) => (messages.length > 0 ? { toolCalls: [code("sleep 600000")] } : { text: "" }));
  const before = harness.peers.begun.length;
  const { id } = await submit(replica, "version", "Runs");
  await until(() => harness.peers.begun.length === before + 1);
  const { task } = await replica.client.getTask({ taskId: id }, replica.as("version"));
  const wrong = replica.client.cancelTask({ taskId: id, expectedVersion: 999n }, replica.as("version"));
  expect(await refusal(wrong)).toEqual(["ABORTED", "VERSION_MISMATCH"]);
  const right = { taskId: id, expectedVersion: task?.version ?? 0n };
  await replica.client.cancelTask(right, replica.as("version"));
  expect(stateName((await ended(replica, "version", id)).state)).toBe("CANCELLED");
});

test("a rerun is a new task in a conversation of its own; the old one stays", async () => {
  harness.model.use(echoScript);
  const workspaceId = newId();
  const old = await submit(replica, "rerun", "Once more", { priority: 3, workspaceId, budgets: { maxToolCalls: 7 } });
  const before = await ended(replica, "rerun", old.id);
  const as = replica.as("rerun");
  const { task } = await replica.client.rerunTask({ taskId: old.id, requestId: "rerun-1" }, as);
  expect(task).toMatchObject({ rerunOf: old.id, prompt: old.prompt, priority: 3, workspaceId });
  expect(task?.budgets?.maxToolCalls).toBe(7);
  expect([task?.id, task?.conversationId, task?.traceId]).not.toEqual(
    expect.arrayContaining([old.id, old.conversationId, old.traceId]),
  );
  const again = await replica.client.rerunTask({ taskId: old.id, requestId: "rerun-1" }, as);
  expect(again.task?.id).toBe(task?.id);
  expect(stateName((await ended(replica, "rerun", task?.id ?? "")).state)).toBe("SUCCEEDED");
  expect((await replica.client.getTask({ taskId: old.id }, as)).task).toEqual(before);
  const foreign = replica.client.rerunTask({ taskId: old.id }, replica.as("somebody-else"));
  expect((await refusal(foreign))[0]).toBe("NOT_FOUND");
  const other = replica.client.rerunTask({ taskId: task?.id ?? "", requestId: "rerun-1" }, as);
  expect(await refusal(other)).toEqual(["ALREADY_EXISTS", "REQUEST_ID_TAKEN"]);
});

test("a task is deleted with its logs once it has ended", async () => {
  const id = await cancelledInTheMiddle("delete");
  const as = replica.as("delete");
  await replica.client.deleteTask({ taskId: id }, replica.as("somebody-else"));
  expect((await replica.client.getTask({ taskId: id }, as)).task?.id).toBe(id);
  await replica.client.deleteTask({ taskId: id }, as);
  await replica.client.deleteTask({ taskId: id }, as);
  expect((await refusal(replica.client.getTask({ taskId: id }, as)))[0]).toBe("NOT_FOUND");
  expect((await refusal(replica.client.listSteps({ taskId: id }, as)))[0]).toBe("NOT_FOUND");
  harness.model.use((messages) => (messages.length > 0 ? { toolCalls: [code("sleep 600000")] } : { text: "" }));
  const running = await submit(replica, "delete", "Runs");
  const early = replica.client.deleteTask({ taskId: running.id }, as);
  expect(await refusal(early)).toEqual(["FAILED_PRECONDITION", "TASK_RUNNING"]);
  await replica.client.cancelTask({ taskId: running.id }, as);
  await ended(replica, "delete", running.id);
});
