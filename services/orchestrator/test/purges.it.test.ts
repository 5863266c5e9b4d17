import type { MessageInitShape } from "@bufbuild/protobuf";
import { newId } from "@drover/kernel";
import { openDatabase } from "@drover/postgres";
import { TaskState } from "@drover/proto/event/v1/task_event";
import { PolicyEffect } from "@drover/proto/orchestrator/v1/agent_service";
import type { PurgeReceipt, PurgeRequestSchema } from "@drover/proto/orchestrator/v1/privacy_service";
import { droverErrorFrom } from "@drover/rpc";
import { callsScript, failingScript, turnsScript } from "@drover/testkit/scripted-model";
import { sql } from "kysely";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { ended, type Harness, type Replica, startHarness, submit, until } from "./harness.ts";
import { startOrchestratorProcess } from "./orchestrator-process.ts";

const scopes = ["tasks:read", "tasks:write", "privacy:read", "privacy:write", "policies:write", "policies:read"];
const quick = { DROVER_PURGE_SETTLE_MS: "50", DROVER_PURGE_POLL_MS: "50", DROVER_CLAIM_POLL_MS: "50" };

let harness: Harness;
let replica: Awaited<ReturnType<Harness["orchestrator"]>>;
beforeAll(async () => {
  harness = await startHarness();
  replica = await harness.orchestrator(quick);
});
afterAll(async () => {
  await replica?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

const as = (tenant: string, subject = "officer", given: readonly string[] = scopes) =>
  replica.as(tenant, given, subject);
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => "OK",
    (error: unknown) => `${droverErrorFrom(error).code} ${droverErrorFrom(error).reason}`.trim(),
  );

type Subject = NonNullable<MessageInitShape<typeof PurgeRequestSchema>["subject"]>;

async function asked(on: Replica, tenant: string, subject: Subject, requestId = ""): Promise<PurgeReceipt> {
  const { receipt } = await on.privacy.purge({ requestId, subject }, as(tenant));
  if (receipt === undefined) throw new Error("no receipt");
  return receipt;
}

async function shown(on: Replica, tenant: string, purgeId: string): Promise<PurgeReceipt> {
  const { receipt } = await on.privacy.getPurge({ purgeId }, as(tenant));
  if (receipt === undefined) throw new Error("no receipt");
  return receipt;
}

const completed = (on: Replica, tenant: string, purgeId: string) =>
  vi.waitUntil(
    async () => {
      const receipt = await shown(on, tenant, purgeId).catch(() => undefined);
      return receipt?.completedAt === undefined ? undefined : receipt;
    },
    { timeout: 30_000, interval: 50 },
  );

async function submitAs(tenant: string, subject: string, fields = {}) {
  const { task } = await replica.client.submitTask({ prompt: "say so", ...fields }, as(tenant, subject));
  if (task === undefined) throw new Error("no task");
  return task;
}

async function taskIds(tenant: string): Promise<string[]> {
  return (await replica.client.listTasks({}, as(tenant))).tasks.map(({ id }) => id).sort();
}

test("a user's tasks go from every service, named by all their ids; those of others stay", async () => {
  harness.model.use(turnsScript([{ text: "done" }]));
  const mine = await submitAs("t-user", "alice");
  const second = await submitAs("t-user", "alice");
  const theirs = await submitAs("t-user", "bob");
  const foreign = await submitAs("t-elsewhere", "alice");
  for (const [tenant, id] of [
    ["t-user", mine.id],
    ["t-user", second.id],
    ["t-user", theirs.id],
    ["t-elsewhere", foreign.id],
  ] as const) {
    await ended(replica, tenant, id);
  }
  harness.peers.erasures.kept.set("memory", 5);
  const { id } = await asked(replica, "t-user", { case: "user", value: "alice" });
  const receipt = await completed(replica, "t-user", id);
  expect(receipt.parts.map(({ service, done, removed, problem }) => [service, done, Number(removed), problem])).toEqual(
    [
      ["orchestrator", true, 2, ""],
      ["sandbox", true, 0, ""],
      ["memory", true, 5, ""],
      ["rag", true, 0, ""],
      ["trace", true, 0, ""],
    ],
  );
  expect(receipt.requestedBy).toBe("officer");
  expect(await taskIds("t-user")).toEqual([theirs.id]);
  expect(await taskIds("t-elsewhere")).toEqual([foreign.id]);
  const calls = harness.peers.erasures.asked.filter(({ tenant }) => tenant === "t-user");
  expect(new Set(calls.map(({ service }) => service))).toEqual(new Set(["sandbox", "memory", "rag", "trace"]));
  for (const call of calls) {
    expect(call).toMatchObject({ by: "officer", subject: "alice", wholeTenant: false, conversationIds: [] });
    expect([...call.taskIds].sort()).toEqual([mine.id, second.id].sort());
    expect([...call.workspaceIds].sort(), "by the requests that may have made them").toEqual([...call.taskIds].sort());
    expect([...call.traceIds].sort()).toEqual([mine.traceId, second.traceId].sort());
  }
});

test("a conversation's tasks go; a workspace that a task of another conversation names stays", async () => {
  harness.model.use(turnsScript([{ text: "done" }]));
  const conversationId = newId();
  const shared = newId();
  const own = newId();
  const one = await submitAs("t-talk", "alice", { conversationId, workspaceId: shared });
  const two = await submitAs("t-talk", "alice", { conversationId, workspaceId: own });
  const other = await submitAs("t-talk", "alice", { workspaceId: shared });
  for (const { id } of [one, two, other]) await ended(replica, "t-talk", id);
  const { id } = await asked(replica, "t-talk", { case: "conversationId", value: conversationId });
  await completed(replica, "t-talk", id);
  expect(await taskIds("t-talk")).toEqual([other.id]);
  const call = harness.peers.erasures.asked.find(({ tenant, service }) => tenant === "t-talk" && service === "sandbox");
  expect(call).toMatchObject({ conversationIds: [conversationId], workspaceIds: [own], subject: "" });
});

test("what runs is cancelled first, nothing is erased before it has ended, and its subject gets nothing new meanwhile", async () => {
  harness.model.use(callsScript([{ name: "run_code", arguments: { language: "bash", code: "stubborn 1500" } }]));
  const begun = harness.peers.begun.length;
  const task = await submitAs("t-runs", "alice");
  await until(() => harness.peers.begun.length > begun);
  const { id } = await asked(replica, "t-runs", { case: "user", value: "alice" });
  expect(await codeOf(submitAs("t-runs", "alice"))).toBe("FAILED_PRECONDITION PURGE_RUNNING");
  expect(await codeOf(submitAs("t-runs", "bob"))).toBe("OK");
  await vi.waitUntil(
    async () => (await shown(replica, "t-runs", id)).parts[0]?.problem === "One task has not ended yet.",
  );
  expect(harness.peers.erasures.asked.filter(({ tenant }) => tenant === "t-runs")).toEqual([]);
  expect((await replica.client.getTask({ taskId: task.id }, as("t-runs"))).task?.cancelRequested).toBe(true);
  await completed(replica, "t-runs", id);
  expect(await codeOf(replica.client.getTask({ taskId: task.id }, as("t-runs")))).toContain("NOT_FOUND");
  harness.model.use(turnsScript([{ text: "done" }]));
  expect(await codeOf(submitAs("t-runs", "alice")), "afterwards there is a new beginning").toBe("OK");
});

test("a task that has ended is not resumed while its subject's removal waits for a service", async () => {
  harness.model.use(turnsScript([{ text: "" }]));
  const task = await submitAs("t-resume", "alice", { maxRounds: 1 });
  await replica.client.cancelTask({ taskId: task.id }, as("t-resume"));
  const { state } = await ended(replica, "t-resume", task.id);
  expect([TaskState.CANCELLED, TaskState.FAILED]).toContain(state);
  harness.peers.erasures.down.add("trace");
  const { id } = await asked(replica, "t-resume", { case: "user", value: "alice" });
  await vi.waitUntil(async () => (await shown(replica, "t-resume", id)).parts[4]?.problem.startsWith("UNAVAILABLE"));
  const waiting = await shown(replica, "t-resume", id);
  expect(waiting.completedAt).toBeUndefined();
  expect(waiting.parts.map(({ done }) => done)).toEqual([false, true, true, true, false]);
  expect(await codeOf(replica.client.resumeTask({ taskId: task.id }, as("t-resume")))).toBe(
    "FAILED_PRECONDITION PURGE_RUNNING",
  );
  expect(await taskIds("t-resume")).toEqual([task.id]);
  harness.peers.erasures.down.delete("trace");
  await completed(replica, "t-resume", id);
  expect(await taskIds("t-resume")).toEqual([]);
});

test("nothing is learnt any more from a task that goes", async () => {
  harness.model.use(failingScript(400));
  const task = await submitAs("t-learn", "alice");
  expect((await ended(replica, "t-learn", task.id)).state).toBe(TaskState.FAILED);
  await using db = openDatabase<{ after_task: { state: string } }>({ ...harness.database, service: "orchestrator" });
  const states = () =>
    db.withTenant("t-learn", async (tx) =>
      (await tx.selectFrom("after_task").select("state").execute()).map(({ state }) => state),
    );
  expect(await states()).toEqual(["DUE"]);
  // Long after this test, so that nobody takes it up in between.
  await db.withTenant("t-learn", (tx) => sql`UPDATE after_task SET next_at = now() + interval '1 hour'`.execute(tx));
  harness.peers.erasures.down.add("trace");
  const { id } = await asked(replica, "t-learn", { case: "user", value: "alice" });
  await vi.waitUntil(async () => (await shown(replica, "t-learn", id)).parts[4]?.problem.startsWith("UNAVAILABLE"));
  expect(await states()).toEqual(["WITHDRAWN"]);
  harness.peers.erasures.down.delete("trace");
  await completed(replica, "t-learn", id);
  expect(await states()).toEqual([]);
});

test("a whole tenant goes with its rules; the receipt stays, and nobody else's", async () => {
  harness.model.use(turnsScript([{ text: "done" }]));
  const task = await submitAs("t-whole", "alice");
  const kept = await submitAs("t-kept", "alice");
  await ended(replica, "t-whole", task.id);
  await ended(replica, "t-kept", kept.id);
  const policy = { name: "p", tool: "*", effect: PolicyEffect.ALLOW };
  for (const tenant of ["t-whole", "t-kept"]) await replica.agents.putPolicy({ policy }, as(tenant));
  const { id } = await asked(replica, "t-whole", { case: "wholeTenant", value: true });
  const receipt = await completed(replica, "t-whole", id);
  expect(Number(receipt.parts[0]?.removed)).toBe(2);
  expect(await taskIds("t-whole")).toEqual([]);
  expect((await replica.agents.listPolicies({}, as("t-whole"))).policies).toEqual([]);
  expect(await taskIds("t-kept")).toEqual([kept.id]);
  expect((await replica.agents.listPolicies({}, as("t-kept"))).policies).toHaveLength(1);
  const calls = harness.peers.erasures.asked.filter(({ tenant }) => tenant === "t-whole");
  expect(calls.every(({ wholeTenant }) => wholeTenant)).toBe(true);
});

test("the same request is the same removal; another body, nobody and a foreign tenant are refused", async () => {
  const user: Subject = { case: "user", value: "carol" };
  const first = await asked(replica, "t-again", user, "once");
  await completed(replica, "t-again", first.id);
  expect((await asked(replica, "t-again", user, "once")).id).toBe(first.id);
  expect((await asked(replica, "t-again", user, "once")).completedAt).toBeDefined();
  expect((await asked(replica, "t-again", user)).id).not.toBe(first.id);
  expect(await codeOf(asked(replica, "t-again", { case: "user", value: "dave" }, "once"))).toContain("ALREADY_EXISTS");
  expect(await codeOf(asked(replica, "t-again", { case: undefined }))).toContain("INVALID_ARGUMENT");
  expect(await codeOf(asked(replica, "t-again", { case: "wholeTenant", value: false }))).toContain("INVALID_ARGUMENT");
  expect(await codeOf(shown(replica, "t-other", first.id))).toContain("NOT_FOUND");
  const { privacy } = replica;
  const reads = as("t-again", "eve", ["privacy:read", "tasks:write"]);
  expect(await codeOf(privacy.purge({ subject: user }, reads))).toContain("PERMISSION_DENIED");
  expect(await codeOf(privacy.getPurge({ purgeId: first.id }, as("t-again", "eve", ["privacy:write"])))).toContain(
    "PERMISSION_DENIED",
  );
});

test("after kill -9 in the middle another replica ends the removal", async () => {
  await using own = await startHarness();
  const { erasures } = own.peers;
  erasures.down.add("memory");
  const lease = { ...quick, DROVER_LEASE_TTL_MS: "1500" };
  const doomed = await startOrchestratorProcess({ ...own.environment, ...lease });
  await using first = own.connect(doomed.address);
  const task = await submit(first, "t-kill", "go");
  await ended(first, "t-kill", task.id);
  const { id } = await asked(first, "t-kill", { case: "user", value: "alice" });
  await until(() => erasures.asked.some(({ service }) => service === "memory"));
  doomed.kill("SIGKILL");
  await doomed.exited;
  erasures.down.delete("memory");
  erasures.kept.set("memory", 3);
  await using second = await own.orchestrator(lease);
  const receipt = await completed(second, "t-kill", id);
  expect(receipt.parts.map(({ done }) => done)).toEqual([true, true, true, true, true]);
  expect(Number(receipt.parts[2]?.removed)).toBe(3);
  expect((await second.client.listTasks({}, second.as("t-kill"))).tasks).toEqual([]);
});
