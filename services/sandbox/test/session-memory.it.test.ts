import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

/** Sessions and runs share one budget, which holds two of either. */
let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest({
    DROVER_SANDBOX_MEMORY: `${128 << 20}`,
    DROVER_SANDBOX_MEMORY_BUDGET: `${256 << 20}`,
    DROVER_SANDBOX_SESSION_MEMORY_PER_TENANT: `${256 << 20}`,
    DROVER_SANDBOX_POOL_MAX: "0",
  });
});
afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

const as = () => sandbox.as(sandbox.tenant);

/** A task with an empty workspace. */
async function newTask() {
  const { workspace } = await sandbox.workspaces.createWorkspace({}, as());
  const place = { taskId: newId(), workspaceId: workspace?.id ?? "" };
  const start = async (command: string, background = false) =>
    (await sandbox.exec.start({ callId: newId(), ...place, command, background }, as())).execution?.id ?? "";
  const shell = async (command: string) => {
    const wait = { seconds: 60n, nanos: 0 };
    const answer = await sandbox.exec.read({ executionId: await start(command), untilEnded: true, wait }, as());
    return Buffer.from(answer.stdout?.data ?? []).toString();
  };
  return { start, shell };
}

test("the session that was idle longest gives way to a session, then to a run; one that is used never does", async () => {
  const [first, busy, third] = await Promise.all([newTask(), newTask(), newTask()]);
  expect(await first.shell("echo kept >file; echo 1 >/tmp/here; echo 1")).toBe("1\n");
  const reading = await busy.start("read x; echo $x", true);
  expect(await third.shell("echo 3")).toBe("3\n");
  expect(await sandbox.containers()).toHaveLength(2);

  expect(await first.shell("cat file; ls /tmp")).toBe("kept\n");
  const run = await sandbox.run("bash", "echo run");
  expect(run.execution.verdict).toBe(Verdict.EXITED);
  await vi.waitFor(async () => expect(await sandbox.containers()).toHaveLength(1), { timeout: 15_000, interval: 50 });

  const second = await third.start("read x", true);
  await expect(first.start("echo 1")).rejects.toMatchObject({
    code: "RESOURCE_EXHAUSTED",
    reason: "TOO_MANY_SESSIONS",
    retryAfterMs: 5000,
  });
  // A run waits until a command is over and its session can go.
  const waiting = sandbox.run("bash", "echo after");
  await sandbox.exec.signal({ executionId: second }, as());
  expect((await waiting).stdout.toString()).toBe("after\n");
  await sandbox.exec.writeInput({ executionId: reading, data: Buffer.from("lives\n") }, as());
  const end = await sandbox.exec.read(
    { executionId: reading, untilEnded: true, wait: { seconds: 30n, nanos: 0 } },
    as(),
  );
  expect(Buffer.from(end.stdout?.data ?? []).toString()).toBe("lives\n");
});

test("a session waits for what a run that has ended gives back", async () => {
  const busy = await newTask();
  const reading = await busy.start("read x", true);
  for (let i = 0; i < 5; i++) {
    const task = await newTask();
    expect((await sandbox.run("bash", "echo run")).execution.verdict).toBe(Verdict.EXITED);
    expect(await task.shell("echo at once")).toBe("at once\n");
  }
  await sandbox.exec.signal({ executionId: reading }, as());
});

test("what waits ahead is in the budget, and is given up for a session and for a run of another language", async () => {
  await using small = await startUnderTest({
    DROVER_SANDBOX_MEMORY: `${128 << 20}`,
    DROVER_SANDBOX_MEMORY_BUDGET: `${256 << 20}`,
    DROVER_SANDBOX_POOL_MIN: "bash=3",
    DROVER_SANDBOX_POOL_MAX: "3",
  });
  const counts = async () => [(await small.containers("all")).length, (await small.containers()).length];
  const wait = { timeout: 20_000, interval: 50 };
  await vi.waitFor(async () => expect(await counts()).toEqual([2, 0]), wait);
  const { workspace } = await small.workspaces.createWorkspace({}, small.as(small.tenant));
  const place = { taskId: newId(), workspaceId: workspace?.id ?? "" };
  await small.exec.start({ callId: newId(), ...place, command: "read x", background: true }, small.as(small.tenant));
  expect(await counts()).toEqual([2, 1]);
  const during = Promise.withResolvers<number[]>();
  const onEvent = (kind: string) => kind === "data" && during.resolve(counts());
  const run = small.run("python", "import time; print('up', flush=True); time.sleep(1)", { onEvent });
  expect(await during.promise).toEqual([2, 2]);
  expect((await run).execution.verdict).toBe(Verdict.EXITED);
  await vi.waitFor(async () => expect(await counts()).toEqual([2, 1]), wait);
});
