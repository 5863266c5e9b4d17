import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, inject, test, vi } from "vitest";
import { type Replica, type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

/** Two instances over one database and one engine; a caller's calls land on either. */
let sandbox: SandboxUnderTest;
let beside: Replica;
beforeAll(async () => {
  // The first one renews so seldom that a test can let its lease run out; the second one takes over and reaps at once.
  sandbox = await startUnderTest({ DROVER_SANDBOX_REAP_MS: "15000", DROVER_SANDBOX_POOL_MAX: "0" });
  beside = await sandbox.beside({ DROVER_SANDBOX_REAP_MS: "500" });
});
afterAll(async () => {
  await beside?.[Symbol.asyncDispose]();
  await sandbox?.[Symbol.asyncDispose]();
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

const as = () => sandbox.as(sandbox.tenant);
const seconds = (s: number) => ({ seconds: BigInt(s), nanos: 0 });
type Exec = SandboxUnderTest["exec"];

/** Containers of a task, whichever instance made them. */
async function containersOf(taskId: string): Promise<string[]> {
  const found = await sandbox.docker.listContainers({ all: true, filters: { label: [`drover.task=${taskId}`] } });
  return found.map(({ Id }) => Id);
}

/** A task with an empty workspace. */
async function newTask() {
  const { workspace } = await sandbox.workspaces.createWorkspace({}, as());
  const place = { taskId: newId(), workspaceId: workspace?.id ?? "" };
  const start = async (at: Exec, command: string, background = false) =>
    (await at.start({ callId: newId(), ...place, command, background }, as())).execution?.id ?? "";
  const read = async (at: Exec, executionId: string) => {
    const answer = await at.read({ executionId, untilEnded: true, wait: seconds(60) }, as());
    return { ...answer.execution, out: Buffer.from(answer.stdout?.data ?? []).toString() };
  };
  const files = async () => (await sandbox.workspaces.listFiles({ workspaceId: place.workspaceId }, as())).files;
  return { ...place, start, read, files };
}

test("a task has one session, whichever instance its calls land on", async () => {
  const { taskId, start, read } = await newTask();
  const ids = await Promise.all([
    start(sandbox.exec, "echo a >>/tmp/seen; read x; echo got $x", true),
    start(beside.exec, "echo b >>/tmp/seen; read x; echo got $x", true),
  ]);
  expect(await containersOf(taskId)).toHaveLength(1);
  for (const [at, other] of [
    [sandbox.exec, beside.exec],
    [beside.exec, sandbox.exec],
  ] as const) {
    expect((await read(at, await start(other, "sort /tmp/seen"))).out).toBe("a\nb\n");
  }
  for (const executionId of ids) {
    const { execution } = await beside.exec.getExecution({ key: { case: "id", value: executionId } }, as());
    expect(execution?.startedAt).toBeDefined();
  }
  const [first = "", second = ""] = ids;
  for (const at of [sandbox.exec, beside.exec]) {
    await expect(
      at.writeInput({ executionId: first, data: Buffer.from("in"), offset: 9n }, as()),
    ).rejects.toMatchObject({
      code: "ABORTED",
      reason: "INPUT_GAP",
    });
  }
  await beside.exec.writeInput({ executionId: first, data: Buffer.from("in\n") }, as());
  expect((await read(beside.exec, first)).out).toBe("got in\n");
  for (const at of [sandbox.exec, beside.exec]) {
    const { execution } = await at.signal({ executionId: second }, as());
    expect(execution?.verdict).toBe(Verdict.CANCELLED);
  }
  await Promise.all([sandbox.exec.endSession({ taskId }, as()), beside.exec.endSession({ taskId }, as())]);
  expect(await containersOf(taskId)).toEqual([]);
});

test("a run is read and ended through the other instance as well", async () => {
  const begun = Promise.withResolvers<string>();
  const onEvent = (kind: string, id: string) => kind === "data" && begun.resolve(id);
  const run = sandbox.run("bash", "echo here; sleep 60", { onEvent });
  const executionId = await begun.promise;
  const seen = await beside.exec.read({ executionId }, as());
  expect(Buffer.from(seen.stdout?.data ?? []).toString()).toBe("here\n");
  const { execution } = await beside.exec.signal({ executionId }, as());
  expect(execution?.verdict).toBe(Verdict.CANCELLED);
  expect((await run).execution.verdict).toBe(Verdict.CANCELLED);
});

test("a call id that runs elsewhere is followed live, and its last follower ends it", async () => {
  const callId = newId();
  const request = { callId, language: "bash", code: "echo first; sleep 1; echo second; sleep 60" };
  const [one, two] = [new AbortController(), new AbortController()];
  const follow = (at: Exec, { signal }: AbortController) =>
    at.run(request, { ...as(), signal })[Symbol.asyncIterator]();
  const here = follow(sandbox.exec, one);
  expect((await here.next()).value?.event.value).toMatchObject({ existing: false });
  const there = follow(beside.exec, two);
  expect((await there.next()).value?.event.value).toMatchObject({ existing: true });
  const seen = [await there.next(), await there.next()].map(({ value }) => [value?.sequence, value?.event.case]);
  expect(seen).toEqual([
    [2n, "started"],
    [3n, "data"],
  ]);
  // The first follower leaves, and the run goes on for the other.
  one.abort();
  const drained = async () => {
    while ((await here.next()).done !== true);
  };
  await expect(drained()).rejects.toMatchObject({ code: "CANCELLED" });
  expect((await there.next()).value?.event.value).toMatchObject({ offset: 6n });
  const state = async () =>
    (await sandbox.exec.getExecution({ key: { case: "callId", value: callId } }, as())).execution;
  two.abort();
  await vi.waitFor(async () => expect((await state())?.verdict).toBe(Verdict.CANCELLED), { timeout: 15_000 });
});

test("what was passed on once is not passed on again, and an owner that does not answer is waited for", async () => {
  const { taskId, workspaceId, start } = await newTask();
  const executionId = await start(sandbox.exec, "read x", true);
  const request = { callId: newId(), taskId, workspaceId, command: "true" };
  const passedOn = { ...as(), headers: { "x-drover-forwarded": "1" } };
  const moved = { code: "UNAVAILABLE", reason: "SESSION_MOVED", retryAfterMs: 500 };
  await expect(beside.exec.start(request, passedOn)).rejects.toMatchObject(moved);
  await expect(beside.exec.read({ executionId }, passedOn)).rejects.toMatchObject(moved);

  await sandbox.sql(`UPDATE session_owner SET address = '127.0.0.1:1' WHERE task_id = '${taskId}'`);
  const away = { code: "UNAVAILABLE", reason: "OWNER_UNREACHABLE", retryAfterMs: 1000 };
  await expect(beside.exec.start(request, as())).rejects.toMatchObject(away);
  expect((await beside.exec.getExecution({ key: { case: "id", value: executionId } }, as())).execution?.id).toBe(
    executionId,
  );
  await sandbox.exec.endSession({ taskId }, as());
});

/** As if the owner of the task had not renewed for half a minute. */
async function letLeaseRunOut(taskId: string): Promise<void> {
  const over = `SET lease_until = now() - interval '1 second' WHERE task_id = '${taskId}'`;
  await sandbox.sql(`WITH runs AS (UPDATE execution ${over}) UPDATE session_owner ${over}`);
}

/** An instance in a process of its own, which can be killed. */
async function startProcess() {
  const own = { DROVER_SANDBOX_INSTANCE: `${sandbox.environment.DROVER_SANDBOX_INSTANCE}-${newId()}` };
  const child = spawn(process.execPath, [fileURLToPath(new URL("../src/main.ts", import.meta.url))], {
    env: { ...process.env, ...sandbox.environment, ...own, NATS_URL: inject("natsUrl"), DROVER_LOG_LEVEL: "info" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let text = "";
  for await (const chunk of child.stdout) {
    text += String(chunk);
    const address = /"address":"([^"]+)"/.exec(text)?.[1];
    if (address !== undefined) return { child, exec: sandbox.clientOf(address) };
  }
  throw new Error(`The service did not start: ${text}`);
}

test("an instance that is killed is waited for until its lease is over; then its task goes on elsewhere", async () => {
  const { child, exec } = await startProcess();
  try {
    const { taskId, start, read } = await newTask();
    const lost = await start(exec, "echo up; sleep 60", true);
    expect((await sandbox.exec.read({ executionId: lost, wait: seconds(20) }, as())).stdout?.data).toHaveLength(3);
    child.kill("SIGKILL");
    const away = { code: "UNAVAILABLE", reason: "OWNER_UNREACHABLE" };
    await vi.waitFor(() => expect(read(beside.exec, lost)).rejects.toMatchObject(away), { timeout: 20_000 });
    await expect(start(beside.exec, "echo on")).rejects.toMatchObject(away);
    await letLeaseRunOut(taskId);
    expect(await read(beside.exec, lost)).toMatchObject({ verdict: Verdict.INFRA_LOST });
    expect((await read(sandbox.exec, await start(beside.exec, "echo on"))).out).toBe("on\n");
    await vi.waitFor(async () => expect(await containersOf(taskId)).toHaveLength(1), { timeout: 20_000 });
    await sandbox.exec.endSession({ taskId }, as());
  } finally {
    child.kill("SIGKILL");
  }
});

test("a dead owner's commands are lost, its container is removed, and its task goes on elsewhere", async () => {
  const { taskId, start, read, files } = await newTask();
  await read(sandbox.exec, await start(sandbox.exec, "echo kept >kept; touch /tmp/old"));
  const lost = await start(sandbox.exec, "echo late >late; read x; sleep 60", true);
  const [container = ""] = await containersOf(taskId);
  await letLeaseRunOut(taskId);

  const next = await start(beside.exec, "cat kept; ls /tmp");
  expect(await read(beside.exec, next)).toMatchObject({ verdict: Verdict.EXITED, out: "kept\n" });
  expect(await read(beside.exec, lost)).toMatchObject({
    verdict: Verdict.INFRA_LOST,
    message: "The sandbox service was restarted or lost while the program ran.",
  });
  // The owner of before is alive after all: what lands on it is answered by the new one, or refused for another try.
  await vi.waitFor(async () => expect(await containersOf(taskId)).not.toContain(container), { timeout: 20_000 });
  await vi.waitFor(
    async () => expect((await read(sandbox.exec, await start(sandbox.exec, "echo on"))).out).toBe("on\n"),
    {
      timeout: 30_000,
    },
  );
  expect(await containersOf(taskId)).toHaveLength(1);
  expect((await files()).map(({ path }) => path)).toEqual(["kept"]);
  await sandbox.exec.endSession({ taskId }, as());
  expect(await containersOf(taskId)).toEqual([]);
});
