import { DroverError } from "@drover/kernel";
import { ToolCallState } from "@drover/proto/event/v1/task_event";
import type { Script } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ended, type Harness, type Replica, startHarness, stateName, submit, until } from "./harness.ts";
import { startOrchestratorProcess } from "./orchestrator-process.ts";

const code = (text: string) => ({ name: "run_code", arguments: { language: "python", code: text } });

let harness: Harness;
beforeAll(async () => {
  harness = await startHarness();
});
afterAll(() => harness?.[Symbol.asyncDispose]());

/** A replica that writes down which task it commits to, and how often. */
async function noting(name: string): Promise<Replica & AsyncDisposable & { readonly commits: string[] }> {
  const commits: string[] = [];
  const replica = await harness.orchestrator(
    { DROVER_REPLICA: name },
    {
      intercept: ({ store, signals }) => ({
        signals,
        store: {
          ...store,
          commit(claim, version, change) {
            commits.push(claim.taskId);
            return store.commit(claim, version, change);
          },
        },
      }),
    },
  );
  return { ...replica, commits, [Symbol.asyncDispose]: () => replica[Symbol.asyncDispose]() };
}

test("a resumed task goes on at the replica that is left, and no round and no call is repeated", async () => {
  const rounds = ["print first", "sleep 600000", "print third"];
  const script: Script = (messages) => {
    const done = messages.filter(({ role }) => role === "tool").length;
    const next = rounds[done];
    return next === undefined ? { text: `answered after ${done}` } : { toolCalls: [code(next)] };
  };
  harness.model.use(script);
  const one = await noting("one");
  const { id } = await submit(one, "elsewhere", "Go on elsewhere");
  await until(() => harness.peers.effects.some(({ key }) => key === "sleep 600000"));
  await one.client.cancelTask({ taskId: id }, one.as("elsewhere"));
  expect(stateName((await ended(one, "elsewhere", id)).state)).toBe("CANCELLED");
  await one[Symbol.asyncDispose]();
  const byOne = one.commits.length;
  expect(byOne).toBeGreaterThan(0);
  const asked = harness.model.requests.length;
  await using two = await noting("two");
  await two.client.resumeTask({ taskId: id }, two.as("elsewhere"));
  const done = await ended(two, "elsewhere", id);
  expect([stateName(done.state), done.answer, done.resumes, done.round]).toEqual([
    ...["SUCCEEDED", "answered after 3", 1, 4],
  ]);
  expect([one.commits.length, two.commits.every((taskId) => taskId === id)]).toEqual([byOne, true]);
  expect(two.commits.length).toBeGreaterThan(3);
  // The model was asked for the third call and for the answer, and for nothing that it had said before.
  expect(harness.model.requests.length - asked).toBe(2);
  const { steps } = await two.client.listSteps({ taskId: id }, two.as("elsewhere"));
  expect(steps.filter(({ kind }) => kind === "turn").map(({ round }) => round)).toEqual([1, 2, 3, 4]);
  const { toolCalls } = await two.client.listToolCalls({ taskId: id }, two.as("elsewhere"));
  const { SUCCEEDED, CANCELLED } = ToolCallState;
  expect(toolCalls.map(({ state }) => state)).toEqual([SUCCEEDED, CANCELLED, SUCCEEDED]);
  expect(harness.peers.begun).toEqual(toolCalls.map(({ callId }) => callId));
});

test("with one claim allowed in vain, drain after drain hands a task over and none of them counts", async () => {
  harness.model.use((messages) =>
    messages.some(({ role }) => role === "tool") ? { text: "done" } : { toolCalls: [code("sleep 600000")] },
  );
  const one = { ...harness.environment, DROVER_DEAD_LETTER_CLAIMS: "1", DROVER_CLAIM_POLL_MS: "100" };
  let taskId = "";
  for (let turn = 1; turn <= 2; turn++) {
    await using draining = await startOrchestratorProcess(one);
    await using front = harness.connect(draining.address);
    if (turn === 1) taskId = (await submit(front, "drained", "Hand over")).id;
    await expect
      .poll(async () => (await front.client.getTask({ taskId }, front.as("drained"))).task?.attempt)
      .toBe(turn);
    draining.kill("SIGTERM");
    expect(await draining.exited).toBe(0);
  }
  await using last = await harness.orchestrator({ DROVER_DEAD_LETTER_CLAIMS: "1", DROVER_CLAIM_POLL_MS: "100" });
  await expect.poll(async () => (await last.client.getTask({ taskId }, last.as("drained"))).task?.attempt).toBe(3);
  await last.client.cancelTask({ taskId }, last.as("drained"));
  const done = await ended(last, "drained", taskId);
  expect([stateName(done.state), done.failureReason]).toEqual(["CANCELLED", "CANCELLED"]);
});

test("a full queue says when to try again: of a submission, of a rerun and of a resume", async () => {
  harness.model.use((messages) => (messages.length > 0 ? { toolCalls: [code("sleep 600000")] } : { text: "" }));
  await using replica = await harness.orchestrator({ DROVER_WORKER_SLOTS: "1", DROVER_TENANT_QUEUED: "2" });
  const as = replica.as("full");
  const before = harness.peers.begun.length;
  const first = await submit(replica, "full", "Cancelled");
  await until(() => harness.peers.begun.length === before + 1);
  await replica.client.cancelTask({ taskId: first.id }, as);
  await ended(replica, "full", first.id);
  const running = await submit(replica, "full", "Runs");
  await until(() => harness.peers.begun.length === before + 2);
  const waiting = [await submit(replica, "full", "Waits"), await submit(replica, "full", "Waits")];
  const refused = await Promise.all(
    [
      () => replica.client.submitTask({ prompt: "One more" }, as),
      () => replica.client.rerunTask({ taskId: first.id }, as),
      () => replica.client.resumeTask({ taskId: first.id }, as),
    ].map((call) => call().catch(DroverError.from)),
  );
  const full = { code: "RESOURCE_EXHAUSTED", reason: "TASK_QUEUE_FULL", retryAfterMs: 5_000, metadata: { limit: "2" } };
  expect(refused).toMatchObject([full, full, full]);
  // Another tenant's queue is its own.
  const other = await submit(replica, "not-full", "Fits");
  for (const [tenant, { id }] of [...waiting.map((task) => ["full", task] as const), ["not-full", other] as const]) {
    await replica.client.cancelTask({ taskId: id }, replica.as(tenant));
  }
  await replica.client.cancelTask({ taskId: running.id }, as);
  await ended(replica, "full", running.id);
});
