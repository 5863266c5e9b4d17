import { newId } from "@drover/kernel";
import { FileChange_Kind, Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest({
    DROVER_SANDBOX_MAX_RUNS: "2",
    DROVER_SANDBOX_MAX_WAITING: "3",
    DROVER_WORKSPACE_MAX_FILE_BYTES: "1MiB",
  });
});
afterAll(async () => {
  expect((await sandbox.run("bash", "echo still fine")).stdout.toString()).toBe("still fine\n");
  await sandbox[Symbol.asyncDispose]();
  // An answer does not wait for the removal of its container.
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

const as = () => sandbox.as(sandbox.tenant);
const empty = (path: string) => ({ path, content: new Uint8Array(), executable: false });
const newWorkspace = async () => (await sandbox.workspaces.createWorkspace({}, as())).workspace?.id ?? "";

describe("what cannot be run is refused with the field", () => {
  test.each([
    ["a name that no file system takes", { files: [empty("x".repeat(256))] }, "files[0].path"],
    ["too many files", { files: Array.from({ length: 5001 }, (_, i) => empty(`${i}`)) }, "files"],
    ["more arguments than fit together", { arguments: Array(10).fill("y".repeat(110_000)) }, "arguments"],
    ["more variables than fit together", { environment: envOf(10, "\u0001".repeat(30_000)) }, "arguments"],
  ])("%s", async (_name, options, field) => {
    await expect(sandbox.run("bash", "true", options)).rejects.toMatchObject({
      code: "INVALID_ARGUMENT",
      violations: [{ field }],
    });
  });

  test("as many arguments as are allowed do arrive", async () => {
    const { stdout } = await sandbox.run("bash", "echo $# $(printf %s $7 | wc -c)", {
      arguments: Array(7).fill("z".repeat(131_071)),
    });
    expect(stdout.toString()).toBe("7 131071\n");
  });

  test("a name that is too long never gets into a workspace", async () => {
    const workspaceId = await newWorkspace();
    const files = [empty(`a/${"é".repeat(128)}`)];
    await expect(sandbox.workspaces.putFiles({ workspaceId, files }, as())).rejects.toMatchObject({
      violations: [{ field: "files[0].path", found: "a part of 256 bytes" }],
    });
  });

  test("a file in place of a folder of the workspace, and the call may come again", async () => {
    const workspaceId = await newWorkspace();
    await sandbox.workspaces.putFiles({ workspaceId, files: [empty("a")] }, as());
    const callId = newId();
    const clash = sandbox.run("bash", "ls", { workspaceId, callId, files: [empty("a/b")] });
    await expect(clash).rejects.toMatchObject({ code: "INVALID_ARGUMENT", violations: [{ field: "files.path" }] });
    const fine = await sandbox.run("bash", "ls", { workspaceId, callId, files: [empty("b")] });
    expect(fine).toMatchObject({ existing: false, execution: { verdict: Verdict.EXITED } });
  });

  test("the program gives way to a folder of its name", async () => {
    const { stdout } = await sandbox.run("python", "import os; print(sorted(os.listdir()))", {
      files: [empty("main.py/x")],
    });
    expect(stdout.toString()).toBe("['main.py', 'main_1.py']\n");
  });
});

test("files that do not fit into the container are the disk's limit, not a loss", async () => {
  const workspaceId = await newWorkspace();
  for (let i = 0; i < 6; i++) {
    const files = [{ ...empty(`f${i}`), content: new Uint8Array(3_000_000).fill(i) }];
    await sandbox.workspaces.putFiles({ workspaceId, files }, as());
  }
  const { execution } = await sandbox.run("bash", "ls", { workspaceId, limits: { memoryBytes: 32 << 20 } });
  expect(execution).toMatchObject({ verdict: Verdict.DISK_LIMIT, killedBy: "" });
  expect(execution.message).not.toContain("/workspace/f");
  const roomy = await sandbox.run("bash", "ls", { workspaceId });
  expect(roomy.execution.verdict).toBe(Verdict.EXITED);
});

test("a file over the limit is skipped with the reason, and the others are taken over", async () => {
  const workspaceId = await newWorkspace();
  const { execution } = await sandbox.run("bash", "head -c 1048577 /dev/zero >large; echo small >small", {
    workspaceId,
  });
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, workspaceVersionAfter: 1n });
  expect(execution.changes.map(({ path, kind }) => [path, kind])).toEqual([
    ["small", FileChange_Kind.ADDED],
    ["large", FileChange_Kind.SKIPPED],
  ]);
  expect(execution.changes[1]?.skippedReason).toContain("at most 1048576");
});

test("of many calls at once each runs or is refused; none that was accepted is lost", async () => {
  // A run that has ended keeps its place until its container is gone.
  await expect.poll(() => sandbox.containers()).toEqual([]);
  const ends = await Promise.allSettled(Array.from({ length: 20 }, () => sandbox.run("bash", "sleep 0.2")));
  const refused = ends.filter(({ status }) => status === "rejected");
  const ran = ends.flatMap((end) => (end.status === "fulfilled" ? [end.value.execution.verdict] : []));
  expect(ran.length).toBeGreaterThanOrEqual(5);
  expect(new Set(ran)).toEqual(new Set([Verdict.EXITED]));
  for (const { reason } of refused as PromiseRejectedResult[]) {
    expect(reason).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "TOO_MANY_RUNS" });
  }
  const { executions } = await sandbox.exec.listExecutions({ pageSize: 100 }, as());
  expect(executions.filter(({ verdict }) => verdict === Verdict.INFRA_LOST)).toEqual([]);
});

test("a cancel while the changes are taken over ends the run at once and changes nothing", async () => {
  const workspaceId = await newWorkspace();
  const callId = newId();
  const cancel = new AbortController();
  const onEvent = (kind: string) => kind === "data" && setTimeout(() => cancel.abort(), 400);
  const code = "for i in $(seq 4000); do echo $i >$i; done; echo done";
  const run = sandbox.run("bash", code, { workspaceId, callId, signal: cancel.signal, onEvent });
  await expect(run).rejects.toMatchObject({ code: "CANCELLED" });
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 1500, interval: 50 });
  const key = { case: "callId" as const, value: callId };
  const { execution } = await sandbox.exec.getExecution({ key }, as());
  expect(execution).toMatchObject({ verdict: Verdict.CANCELLED, killedBy: "cancel", changes: [] });
  expect((await sandbox.workspaces.listFiles({ workspaceId }, as())).version).toBe(0n);
});

function envOf(count: number, value: string): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`V${i}`, value]));
}
