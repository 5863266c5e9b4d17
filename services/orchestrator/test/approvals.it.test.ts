import { openDatabase } from "@drover/postgres";
import { ToolCallState } from "@drover/proto/event/v1/task_event";
import { ApprovalState, type WatchApprovalsResponse } from "@drover/proto/orchestrator/v1/approval_service";
import { droverErrorFrom } from "@drover/rpc";
import { callsScript, echoScript, turnsScript } from "@drover/testkit/scripted-model";
import { afterAll, beforeAll, expect, test } from "vitest";
import { code, decide, decider, pending, rule } from "./approving.ts";
import { ended, eventsOf, type Harness, type Replica, startHarness, stateName, submit } from "./harness.ts";
import { startOrchestratorProcess } from "./orchestrator-process.ts";

const times = {
  DROVER_LEASE_TTL_MS: "1500",
  DROVER_CLAIM_POLL_MS: "200",
  DROVER_APPROVAL_EXPIRY_MS: "100",
  DROVER_WATCH_HEARTBEAT_MS: "300",
};

let harness: Harness;
let one: Replica & AsyncDisposable;
let two: Replica & AsyncDisposable;
beforeAll(async () => {
  harness = await startHarness();
  one = await harness.orchestrator({ ...times, DROVER_WORKER_SLOTS: "1" });
  two = await harness.orchestrator({ ...times, DROVER_WORKER_SLOTS: "1" });
});
afterAll(async () => {
  await one?.[Symbol.asyncDispose]();
  await two?.[Symbol.asyncDispose]();
  await harness?.[Symbol.asyncDispose]();
});

async function codeOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
    return "OK";
  } catch (error) {
    const { code: name, reason } = droverErrorFrom(error);
    return `${name} ${reason}`;
  }
}

test("a task that waits holds no worker and no lease; approved, it goes on to its answer", async () => {
  harness.model.use(callsScript([code("print yes")]));
  await rule(one, "waits");
  const tasks = await Promise.all([1, 2, 3].map((n) => submit(one, "waits", `Ask ${n}`)));
  const approvals = await Promise.all(tasks.map(async ({ id }) => (await pending(one, "waits", id))[0]));
  expect(approvals.map(({ rule: name, reason, agent }) => [name, reason, agent])).toEqual(
    approvals.map(() => ["careful", "code runs", ""]),
  );
  await using database = openDatabase<{
    task: { tenant_id: string; state: string; lease_owner: string | null; held_since: Date | null };
  }>({ url: harness.database.url, service: "orchestrator" });
  const rows = await database.withTenant("waits", (tx) =>
    tx.selectFrom("task").select(["state", "lease_owner", "held_since"]).where("tenant_id", "=", "waits").execute(),
  );
  expect(rows).toEqual(tasks.map(() => ({ state: "WAITING_APPROVAL", lease_owner: null, held_since: null })));
  // The replicas have two slots between them, and three tasks wait: another task gets one all the same.
  harness.model.use(echoScript);
  const other = await submit(one, "free", "Hello");
  expect(stateName((await ended(one, "free", other.id)).state)).toBe("SUCCEEDED");
  harness.model.use(callsScript([code("print yes")]));
  await Promise.all(approvals.map((approval) => decide(two, "waits", approval)));
  for (const { id } of tasks) {
    const events = await eventsOf(one, "waits", id);
    expect(events.map(({ event }) => event.case)).toEqual([
      ...["statusChanged", "statusChanged", "assistantMessage", "toolCallRequested", "approvalRequired"],
      ...["statusChanged", "approvalDecided", "statusChanged", "toolCallCompleted", "assistantMessage"],
      ...events.slice(10).map(({ event }) => event.case),
    ]);
    const done = await ended(one, "waits", id);
    expect([stateName(done.state), done.answer]).toEqual(["SUCCEEDED", expect.stringMatching(/OK[\s\S]*yes/)]);
  }
});

test("decisions land on the right one of two parallel calls to the same tool", async () => {
  harness.model.use(callsScript([code("print first"), code("print second")]));
  await rule(one, "parallel");
  const task = await submit(one, "parallel", "Two");
  const [first, second] = await pending(one, "parallel", task.id, 2);
  if (second === undefined) throw new Error("one approval only");
  expect([first.argumentsPreview, second.argumentsPreview].map((text) => /first|second/.exec(text)?.[0])).toEqual([
    "first",
    "second",
  ]);
  await decide(two, "parallel", second);
  await decide(one, "parallel", first, { deny: true, comment: "not that one" });
  const { answer } = await ended(one, "parallel", task.id);
  expect(answer).toMatch(
    /1\. ERROR DENIED: bob denied this call; it was not run: not that one[\s\S]*2\. OK[\s\S]*second/,
  );
  expect(harness.peers.begun).not.toContain(first.callId);
});

test("approvals that trickle in undo nothing: what was decided stays decided until all of them are", async () => {
  harness.model.use(callsScript([code("print 0"), code("print 1"), code("print 2")]));
  await rule(one, "trickle");
  const task = await submit(one, "trickle", "Trickle");
  const approvals = await pending(one, "trickle", task.id, 3);
  const states = async () => {
    const { toolCalls } = await two.client.listToolCalls({ taskId: task.id }, two.as("trickle"));
    return toolCalls.map(({ state }) => state);
  };
  const { AWAITING, APPROVED, DENIED, SUCCEEDED } = ToolCallState;
  await decide(one, "trickle", approvals[1] ?? approvals[0], { deny: true });
  expect(await states()).toEqual([AWAITING, DENIED, AWAITING]);
  await decide(two, "trickle", approvals[2] ?? approvals[0]);
  expect(await states()).toEqual([AWAITING, DENIED, APPROVED]);
  await decide(one, "trickle", approvals[0]);
  await ended(two, "trickle", task.id);
  expect(await states()).toEqual([SUCCEEDED, DENIED, SUCCEEDED]);
});

test("a second approval in one task sends each result once and in its place", async () => {
  harness.model.use(
    turnsScript([{ toolCalls: [code("print one")] }, { toolCalls: [code("print two")] }, { text: "both are done" }]),
  );
  await rule(one, "twice");
  const task = await submit(one, "twice", "Twice");
  await decide(one, "twice", (await pending(one, "twice", task.id))[0]);
  await decide(two, "twice", (await pending(two, "twice", task.id))[0]);
  const done = await ended(one, "twice", task.id);
  expect([stateName(done.state), done.answer, done.round]).toEqual(["SUCCEEDED", "both are done", 3]);
});

test("a call is run with the approver's arguments, which must fit the tool and the rules", async () => {
  harness.model.use(callsScript([code("print theirs")]));
  await rule(one, "edit");
  const no = { kind: "never", path: "code", test: { case: "matches" as const, value: "rm -rf" } };
  await rule(one, "edit", { name: "never", priority: 9, effect: 3, conditions: [no] });
  const task = await submit(one, "edit", "Edit");
  const [approval] = await pending(one, "edit", task.id);
  const edits = ['{"language":"python"}', "[]", '{"language":"python","code":"rm -rf /"}'];
  for (const edited of edits) {
    const failure = await decide(one, "edit", approval, { edited }).catch(droverErrorFrom);
    expect(failure).toMatchObject({ code: "INVALID_ARGUMENT", violations: [{ field: "edited_arguments" }] });
  }
  const edited = '{"language":"python","code":"print ours"}';
  const decided = await decide(one, "edit", approval, { edited });
  expect([decided?.edited, await codeOf(decide(two, "edit", approval, { edited }))]).toEqual([true, "OK"]);
  expect(await codeOf(decide(two, "edit", approval))).toBe("ABORTED ALREADY_DECIDED");
  expect((await ended(one, "edit", task.id)).answer).toContain("ours");
});

test("of fifty callers at once exactly one wins, and everybody hears who", async () => {
  harness.model.use(callsScript([code("print raced")]));
  await rule(one, "race");
  const task = await submit(one, "race", "Race");
  const [approval] = await pending(one, "race", task.id);
  const outcomes = await Promise.all(
    Array.from({ length: 50 }, async (_, n) => {
      const how = { deny: n % 2 === 0, subject: `caller-${n}` };
      try {
        return (await decide(n % 3 === 0 ? one : two, "race", approval, how))?.decidedBy;
      } catch (error) {
        const failure = droverErrorFrom(error);
        expect([failure.code, failure.reason]).toEqual(["ABORTED", "ALREADY_DECIDED"]);
        expect(failure.message).toContain(failure.metadata.decided_by);
        return failure.metadata.decided_by;
      }
    }),
  );
  expect(new Set(outcomes).size).toBe(1);
  const events = await eventsOf(one, "race", task.id);
  expect(events.filter(({ event }) => event.case === "approvalDecided")).toHaveLength(1);
});

test("what cannot be decided says why", async () => {
  harness.model.use(callsScript([code("print no")]));
  await rule(one, "faults", { approverNotRequester: true });
  const task = await submit(one, "faults", "Faults");
  const [approval] = await pending(one, "faults", task.id);
  expect(await codeOf(decide(one, "faults", approval, { hash: "0".repeat(64) }))).toBe("ABORTED ARGUMENTS_CHANGED");
  expect(await codeOf(decide(one, "faults", approval, { hash: "x" }))).toMatch("INVALID_ARGUMENT");
  expect(await codeOf(decide(one, "faults", approval, { subject: "alice" }))).toBe(
    "PERMISSION_DENIED APPROVER_IS_REQUESTER",
  );
  expect(await codeOf(decide(one, "others", approval))).toBe("NOT_FOUND APPROVAL_NOT_FOUND");
  expect(await codeOf(decide(one, "faults", approval, { comment: "x".repeat(501) }))).toMatch("INVALID_ARGUMENT");
  const reader = one.as("faults", ["approvals:read"]);
  expect(await codeOf(one.approvals.decideApproval({ approvalId: approval.id }, reader))).toMatch("PERMISSION_DENIED");
  expect((await one.approvals.listApprovals({}, decider(one, "others"))).approvals).toEqual([]);
  await one.client.cancelTask({ taskId: task.id, reason: "changed my mind" }, one.as("faults"));
  const done = await ended(one, "faults", task.id);
  expect([stateName(done.state), done.cancelRequested]).toEqual(["CANCELLED", true]);
  expect(await codeOf(decide(one, "faults", approval))).toBe("ABORTED ALREADY_DECIDED");
  const { approvals } = await one.approvals.listApprovals({ taskId: task.id }, decider(one, "faults"));
  expect(approvals.map(({ state }) => state)).toEqual([ApprovalState.WITHDRAWN]);
  expect(harness.peers.begun).not.toContain(approval.callId);
});

test("nobody decided in time: the call is denied and the task goes on", async () => {
  harness.model.use(callsScript([code("print late")]));
  await rule(one, "late", { expiresMs: 1_000n });
  const task = await submit(one, "late", "Late");
  const [approval] = await pending(one, "late", task.id);
  const done = await ended(one, "late", task.id);
  expect([stateName(done.state), done.answer]).toEqual(["SUCCEEDED", expect.stringContaining("APPROVAL_EXPIRED")]);
  expect(await codeOf(decide(one, "late", approval))).toBe("FAILED_PRECONDITION APPROVAL_EXPIRED");
});

test("a watch of approvals has every change once and in order, also when it is cut and goes on at another replica", async () => {
  harness.model.use(callsScript([code("print a"), code("print b")]));
  await rule(one, "watch");
  const seen: WatchApprovalsResponse[] = [];
  let beats = 0;
  const follow = async (replica: Replica, changes: number) => {
    const afterSequence = seen.at(-1)?.sequence ?? 0n;
    for await (const message of replica.approvals.watchApprovals({ afterSequence }, decider(replica, "watch"))) {
      if (message.approval === undefined) beats++;
      else seen.push(message);
      if (message.approval !== undefined && --changes === 0) return;
    }
  };
  const first = follow(one, 3);
  const tasks = await Promise.all([1, 2].map((n) => submit(two, "watch", `Watch ${n}`)));
  await first;
  const approvals = (await Promise.all(tasks.map(({ id }) => pending(two, "watch", id, 2)))).flat();
  const rest = follow(two, 5);
  for (const approval of approvals) await decide(one, "watch", approval, { deny: true });
  await rest;
  expect(seen.map(({ sequence }) => Number(sequence))).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  const states = seen.map(({ approval }) => approval?.state);
  expect(states.slice(0, 4)).toEqual(states.slice(0, 4).map(() => ApprovalState.PENDING));
  expect(new Set(states.slice(4))).toEqual(new Set([ApprovalState.DENIED]));
  expect(beats).toBeGreaterThanOrEqual(2);
  const future = one.approvals.watchApprovals({ afterSequence: 99n }, decider(one, "watch"));
  expect(await codeOf(future[Symbol.asyncIterator]().next())).toMatch("INVALID_ARGUMENT");
});

test("a task that waits survives the replica that asked, and is approved at another one", async () => {
  const turns = [{ toolCalls: [code("print before")] }, { toolCalls: [code("print survived")] }];
  harness.model.use((messages) => {
    const results = messages.filter(({ role }) => role === "tool").map(({ content }) => String(content));
    return turns[results.length] ?? { text: results.join("\n") };
  });
  await rule(one, "killed", { conditions: [{ path: "code", test: { case: "matches", value: "survived" } }] });
  await using dying = await startOrchestratorProcess({ ...harness.environment, ...times });
  await using front = harness.connect(dying.address);
  const task = await submit(front, "killed", "Survive");
  const [approval] = await pending(front, "killed", task.id);
  const deciding = decide(front, "killed", approval).catch(() => undefined);
  dying.kill("SIGKILL");
  await Promise.all([deciding, dying.exited]);
  expect(await codeOf(decide(two, "killed", approval))).toBe("OK");
  const done = await ended(one, "killed", task.id);
  expect([stateName(done.state), done.answer]).toEqual(["SUCCEEDED", expect.stringMatching(/before[\s\S]*survived/)]);
  // Neither the call that was approved nor the one that was over before it was run a second time.
  const { toolCalls } = await one.client.listToolCalls({ taskId: task.id }, one.as("killed"));
  const begun = harness.peers.begun.filter((id) => toolCalls.some(({ callId }) => callId === id));
  expect(begun).toEqual(toolCalls.map(({ callId }) => callId));
});
