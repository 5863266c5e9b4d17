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
