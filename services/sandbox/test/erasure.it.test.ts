import { newId } from "@drover/kernel";
import { openDatabase } from "@drover/postgres";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

async function workspaceIn(tenant: string, text: string): Promise<string> {
  const { workspace } = await sandbox.workspaces.createWorkspace({ requestId: newId() }, sandbox.as(tenant));
  const workspaceId = workspace?.id ?? "";
  const files = [{ path: "a.txt", content: Buffer.from(text), executable: false }];
  await sandbox.workspaces.putFiles({ workspaceId, files }, sandbox.as(tenant));
  return workspaceId;
}

const filesOf = (tenant: string, workspaceId: string) =>
  sandbox.workspaces.listFiles({ workspaceId }, sandbox.as(tenant)).then(
    ({ files }) => files.length,
    () => 0,
  );

async function contents(tenant: string): Promise<string[]> {
  const url = sandbox.environment.DATABASE_URL ?? "";
  await using db = openDatabase<{ blob: { content: Buffer } }>({ url, service: "sandbox" });
  const rows = await db.withTenant(tenant, (tx) => tx.selectFrom("blob").select("content").execute());
  return rows.map(({ content }) => content.toString()).sort();
}

test("workspaces go with the contents that no other holds, and a task's runs with their output", async () => {
  const tenant = "a";
  const [gone, stays] = [await workspaceIn(tenant, "shared"), await workspaceIn(tenant, "shared")];
  const alone = await workspaceIn(tenant, "secret");
  const taskId = newId();
  const { execution } = await sandbox.run("bash", "echo private", { taskId, tenant });
  const request = { workspaceIds: [gone, alone], taskIds: [taskId] };
  expect(await sandbox.erasure.erase(request, sandbox.as("b"))).toMatchObject({ removed: 0n, more: false });
  expect(await filesOf(tenant, gone)).toBe(1);
  expect(await sandbox.erasure.erase(request, sandbox.as(tenant))).toMatchObject({ removed: 3n, more: false });
  expect([await filesOf(tenant, gone), await filesOf(tenant, alone), await filesOf(tenant, stays)]).toEqual([0, 0, 1]);
  expect(await contents(tenant)).toEqual(["shared"]);
  const key = { case: "id" as const, value: execution.id };
  await expect(sandbox.exec.getExecution({ key }, sandbox.as(tenant))).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("a whole tenant goes, and its neighbour stays", async () => {
  const whole = await workspaceIn("whole", "x");
  const neighbour = await workspaceIn("neighbour", "x");
  expect(await sandbox.erasure.erase({ wholeTenant: true }, sandbox.as("whole"))).toMatchObject({ more: false });
  expect([await filesOf("whole", whole), await filesOf("neighbour", neighbour)]).toEqual([0, 1]);
  expect(await contents("whole")).toEqual([]);
});

test("a workspace is found by the request that made it, even where there are more of them than go in one call", async () => {
  const tenant = "requests";
  const requests = Array.from({ length: 55 }, () => newId());
  const made = await Promise.all(
    requests.map((requestId) => sandbox.workspaces.createWorkspace({ requestId }, sandbox.as(tenant))),
  );
  const other = await workspaceIn(tenant, "x");
  const request = { workspaceIds: requests, taskIds: requests };
  expect(await sandbox.erasure.erase(request, sandbox.as(tenant))).toMatchObject({ removed: 50n, more: true });
  expect(await sandbox.erasure.erase(request, sandbox.as(tenant))).toMatchObject({ removed: 5n, more: false });
  for (const { workspace } of made) {
    const read = sandbox.workspaces.listFiles({ workspaceId: workspace?.id ?? "" }, sandbox.as(tenant));
    await expect(read).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
  expect(await filesOf(tenant, other)).toBe(1);
});
