import { FileChange_Kind, Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type RunSeen, type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest();
});
afterAll(async () => {
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
  await sandbox[Symbol.asyncDispose]();
});

const as = () => sandbox.as(sandbox.tenant);

/** Runs a program on a workspace of its own that has `d/f`; gives what came of it and what the workspace then holds. */
async function changed(language: string, code: string, wallMs = 30_000) {
  const { workspace } = await sandbox.workspaces.createWorkspace({}, as());
  const workspaceId = workspace?.id ?? "";
  const files = [{ path: "d/f", content: Buffer.from("first"), executable: false }];
  await sandbox.workspaces.putFiles({ workspaceId, files }, as());
  const seen = await sandbox.run(language, code, { workspaceId, limits: { wallMs } });
  const listed = await sandbox.workspaces.listFiles({ workspaceId, pageSize: 1000 }, as());
  const held = listed.files.map(({ path }) => path);
  return { seen, workspaceId, held };
}

const skips = ({ execution }: RunSeen) =>
  Object.fromEntries(
    execution.changes
      .filter(({ kind }) => kind === FileChange_Kind.SKIPPED)
      .map(({ path, skippedReason }) => [path, skippedReason]),
  );

test("only regular files are taken: links that lead nowhere, in circles or out, sockets and pipes have a reason", async () => {
  const code = `
import os, socket
os.symlink("gone", "dangling"); os.symlink("loop", "loop"); os.symlink("../../..", "out"); os.symlink("/proc/self/fd", "fds")
socket.socket(socket.AF_UNIX).bind("socket"); os.mkfifo("pipe")
open("one", "w").write("same"); os.link("one", "two")`;
  const { seen, workspaceId, held } = await changed("python", code);
  expect(skips(seen)).toEqual({
    dangling: "SYMLINK",
    loop: "SYMLINK",
    out: "SYMLINK",
    fds: "SYMLINK",
    socket: "NOT_A_REGULAR_FILE",
    pipe: "NOT_A_REGULAR_FILE",
  });
  expect(held).toEqual(["d/f", "one", "two"]);
  const got = await sandbox.workspaces.getFiles({ workspaceId, paths: ["one", "two"] }, as());
  expect(got.files.map(({ content }) => Buffer.from(content).toString())).toEqual(["same", "same"]);
});

test("names come back as they are, or not at all", async () => {
  const good = [
    "CON",
    "a b",
    "nul.txt",
    "c:x",
    "dot.",
    "space ",
    "Twin",
    "twin",
    "\u00e9",
    "e\u0301",
    "-rf",
    "$(id)",
    "x".repeat(255),
  ];
  const bad = ["C:\\x", "..\\x", "line\nbreak", "bell\u0007"];
  const code = `
import os
for name in ${JSON.stringify([...good, ...bad])}: open(name, "w").close()
open(b"not-\\xff-utf8", "w").close()`;
  const { seen, held } = await changed("python", code);
  expect(new Set(held)).toEqual(new Set([...good, "d/f"]));
  const reasons = Object.values(skips(seen)).join();
  expect(reasons).toMatch(/^(?:(?:NAME_NOT_ALLOWED|a backslash|a control character),?){5}$/);
});

test("a folder that became a link keeps what the workspace has of it, and nobody follows the link", async () => {
  const { seen, held } = await changed("bash", "rm -r d; ln -s /etc d; ls d/passwd");
  expect(seen.stdout.toString()).toBe("d/passwd\n");
  expect(skips(seen)).toEqual({ d: "SYMLINK" });
  expect(seen.execution.changes).toHaveLength(1);
  expect(held).toEqual(["d/f"]);
});

test("a folder that somebody swaps for a link up to the end shows nothing behind the link", async () => {
  const swap = "while :; do mv d e; ln -s /etc d; rm d; mv e d; done & sleep 0.5; echo done";
  const { seen, held } = await changed("bash", swap);
  expect(seen.execution.verdict).toBe(Verdict.EXITED);
  expect(held.filter((path) => path !== "d/f" && path !== "e/f")).toEqual([]);
});

test("what a child would write after the time limit never appears", async () => {
  const { seen, held } = await changed(
    "bash",
    "(trap '' TERM; sleep 1; echo late >late) & echo x >early; sleep 60",
    500,
  );
  expect(seen.execution).toMatchObject({ verdict: Verdict.TIMEOUT_WALL, changes: [], workspaceVersionAfter: 0n });
  expect(held).toEqual(["d/f"]);
});

test("a thousand levels of folders and more files than a workspace takes are refused with a reason, not taken in part", async () => {
  const deep = "import os\nfor i in range(1000): os.mkdir('x'); os.chdir('x')\nopen('bottom', 'w').close()";
  const down = await changed("python", deep);
  expect(Object.values(skips(down.seen))).toEqual(["TOO_DEEP"]);
  expect(down.held).toEqual(["d/f"]);
  const many = "try:\n  for i in range(100000): open(str(i), 'w').close()\nexcept OSError as e: print(e.errno)";
  const wide = await changed("python", many);
  expect(wide.seen.stdout.toString()).toBe("28\n");
  expect(wide.seen.execution).toMatchObject({ verdict: Verdict.EXITED, workspaceVersionAfter: 0n });
  expect(Object.values(skips(wide.seen)).join()).toMatch(/OVER_FILE_LIMIT|5000 files/);
  expect(wide.held).toEqual(["d/f"]);
});

test("nearly five thousand files with long paths: the answer, the record and lists stay small, the workspace has all", async () => {
  const code = `
import os
folder = "/".join(c * 240 for c in "abc")
os.makedirs(folder)
for i in range(4900): open(f"{folder}/{i:04}", "w").close()
os.symlink("gone", "z")`;
  const { seen, workspaceId } = await changed("python", code);
  const { execution } = seen;
  expect(execution).toMatchObject({
    verdict: Verdict.EXITED,
    exitCode: 0,
    workspaceVersionAfter: 2n,
    changesTotal: 4901,
  });
  expect(execution.changesOmitted).toBe(4901 - execution.changes.length);
  expect(execution.changes.length).toBeGreaterThan(200);
  expect(skips(seen)).toEqual({ z: "SYMLINK" });
  const { execution: found } = await sandbox.exec.getExecution({ key: { case: "id", value: execution.id } }, as());
  expect(found?.changes).toEqual(execution.changes);
  expect(found).toMatchObject({ changesTotal: 4901, changesOmitted: execution.changesOmitted });
  const { executions } = await sandbox.exec.listExecutions({ pageSize: 500 }, as());
  expect(executions.find(({ id }) => id === execution.id)).toMatchObject({
    changes: [],
    changesTotal: 4901,
    changesOmitted: 4901,
  });
  const read = await sandbox.exec.read({ executionId: execution.id }, as());
  expect(read.execution?.changesTotal).toBe(4901);
  const { workspace } = await sandbox.workspaces.putFiles({ workspaceId }, as());
  expect(workspace).toMatchObject({ fileCount: 4901 });
});
