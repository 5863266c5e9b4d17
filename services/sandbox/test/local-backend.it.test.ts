import { mkdtemp, readdir, realpath, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { expect, test } from "vitest";
import { LocalBackend } from "../src/infrastructure/local/local-backend.ts";
import { LocalFiles } from "../src/infrastructure/local/local-files.ts";
import { execBackendContract } from "./exec-backend.contract.ts";
import { startUnderTest } from "./sandbox-under-test.ts";

execBackendContract("local host", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "drover-local-")));
  return {
    backend: new LocalBackend({ folder, owner: "contract" }),
    image: "any",
    [Symbol.asyncDispose]: async () => {
      expect(await readdir(folder)).toEqual([]);
      await rm(folder, { recursive: true });
    },
  };
});

const asked = { DROVER_SANDBOX_BACKEND: "local", DROVER_LOG_LEVEL: "silent" };

test("a folder that became a link keeps its files, and nobody follows the link", async () => {
  const folder = await realpath(await mkdtemp(join(tmpdir(), "drover-local-")));
  const files = new LocalFiles(folder);
  await files.put({ path: "d/e/f", content: Buffer.from("1"), executable: false, ephemeral: false });
  await rm(join(folder, "d"), { recursive: true });
  await symlink("/etc", join(folder, "d"));
  for (let time = 0; time < 2; time++) {
    const seen: unknown[] = [];
    await files.collect({ maxFiles: 9, maxBytes: 1000 }, async (change) => void seen.push(change));
    expect(seen).toEqual([{ kind: "skip", path: "d", reason: "SYMLINK" }]);
  }
  await rm(folder, { recursive: true });
});

test("the local backend must be allowed by name", async () => {
  await expect(startUnderTest(asked)).rejects.toThrow(/DROVER_SANDBOX_ALLOW_UNSAFE_LOCAL/);
});

test("it is marked unsafe wherever it shows, refuses limits it cannot keep, and shows no path of the host", async () => {
  await using sandbox = await startUnderTest({ ...asked, DROVER_SANDBOX_ALLOW_UNSAFE_LOCAL: "true" });
  const { execution, stdout } = await sandbox.run("bash", 'pwd; echo "$0"');
  expect(stdout.toString()).toBe("/workspace\n/workspace/main.sh\n");
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0, runtime: "local (UNSAFE)" });
  expect(execution.appliedLimits).toMatchObject({ memoryBytes: 0n, processes: 0, cpuMillis: 0 });
  const health = await sandbox.exec.checkHealth({}, sandbox.as(sandbox.tenant));
  expect(health).toMatchObject({ ready: true, isolation: "none (UNSAFE)", daemonVersion: "" });
  await expect(sandbox.run("bash", "true", { limits: { memoryBytes: 64 << 20 } })).rejects.toMatchObject({
    code: "UNIMPLEMENTED",
    reason: "UNSUPPORTED",
  });
  const { workspace } = await sandbox.workspaces.createWorkspace({}, sandbox.as(sandbox.tenant));
  const command = { callId: newId(), taskId: newId(), workspaceId: workspace?.id ?? "", command: "true" };
  await expect(sandbox.exec.start(command, sandbox.as(sandbox.tenant))).rejects.toMatchObject({
    code: "UNIMPLEMENTED",
    reason: "UNSUPPORTED",
    retryable: false,
    metadata: { backend: "local", capability: "sessions" },
  });
  const late = await sandbox.run("bash", "sleep 30", { limits: { wallMs: 300 } });
  expect(late.execution.verdict).toBe(Verdict.TIMEOUT_WALL);
});
