import { newId } from "@drover/kernel";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

/** Places for four sessions, of which a tenant has its half. */
let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest({ DROVER_SANDBOX_SESSIONS: "4", DROVER_SANDBOX_POOL_MAX: "0" });
});
afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

/** Starts a command in a new task of the tenant; gives its execution's id and its task's. */
async function startIn(tenant: string, command: string) {
  const as = sandbox.as(tenant);
  const { workspace } = await sandbox.workspaces.createWorkspace({}, as);
  const taskId = newId();
  const request = { callId: newId(), taskId, workspaceId: workspace?.id ?? "", command, background: true };
  return { taskId, id: (await sandbox.exec.start(request, as)).execution?.id ?? "" };
}

test("a tenant that has its share is told which limit, gives way to itself, and leaves the rest to others", async () => {
  const [greedy, other] = [`${sandbox.tenant}-a`, `${sandbox.tenant}-b`];
  const first = await startIn(greedy, "read x");
  await startIn(greedy, "read x");
  await expect(startIn(greedy, "read x")).rejects.toMatchObject({
    code: "RESOURCE_EXHAUSTED",
    reason: "TOO_MANY_SESSIONS",
    retryAfterMs: 5000,
    metadata: { limit: "DROVER_SANDBOX_SESSIONS_PER_TENANT" },
    message: expect.stringContaining("DROVER_SANDBOX_SESSIONS_PER_TENANT"),
  });
  const idle = await startIn(other, "true");
  await sandbox.exec.read(
    { executionId: idle.id, untilEnded: true, wait: { seconds: 30n, nanos: 0 } },
    sandbox.as(other),
  );
  // The other tenant's session is idle, and stays: room is made among one's own.
  await expect(startIn(greedy, "read x")).rejects.toMatchObject({ reason: "TOO_MANY_SESSIONS" });
  await sandbox.exec.signal({ executionId: first.id }, sandbox.as(greedy));
  await startIn(greedy, "read x");
  expect(await sandbox.containers()).toHaveLength(3);
  await startIn(other, "read x");
  expect(await sandbox.containers()).toHaveLength(4);
});
