import { newId } from "@drover/kernel";
import { FileChange_Kind, Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest({ DROVER_WORKSPACE_MAX_FILES: "8", DROVER_WORKSPACE_MAX_BYTES: "1MiB" });
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  // An answer does not wait for the removal of its container.
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

const as = () => sandbox.as(sandbox.tenant);
const file = (path: string, text: string) => ({ path, content: Buffer.from(text), executable: false });

async function workspaceWith(...files: ReturnType<typeof file>[]): Promise<string> {
  const { workspace } = await sandbox.workspaces.createWorkspace({ requestId: newId() }, as());
  const workspaceId = workspace?.id ?? "";
  if (files.length > 0) await sandbox.workspaces.putFiles({ workspaceId, files }, as());
  return workspaceId;
}

async function contentsOf(workspaceId: string): Promise<Record<string, string>> {
  const { files } = await sandbox.workspaces.listFiles({ workspaceId }, as());
  const got = await sandbox.workspaces.getFiles({ workspaceId, paths: files.map(({ path }) => path) }, as());
  return Object.fromEntries(got.files.map(({ path, content }) => [path, Buffer.from(content).toString()]));
}

test("a run sees the workspace and its changes come back as one change set", async () => {
  const workspaceId = await workspaceWith(
    file("in.txt", "in"),
    file("old.txt", "old"),
    file("lib/helper.py", "word = 'helped'"),
  );
  const code =
    "from lib import helper\nimport os\nopen('out.txt','w').write(helper.word + open('in.txt').read())\nos.remove('old.txt')\nopen('in.txt','a').write('!')";
  const { execution } = await sandbox.run("python", code, { workspaceId });
  expect(execution).toMatchObject({
    verdict: Verdict.EXITED,
    exitCode: 0,
    workspaceVersionBefore: 1n,
    workspaceVersionAfter: 2n,
  });
  expect(Object.fromEntries(execution.changes.map(({ path, kind }) => [path, kind]))).toEqual({
    "out.txt": FileChange_Kind.ADDED,
    "in.txt": FileChange_Kind.MODIFIED,
    "old.txt": FileChange_Kind.DELETED,
  });
  expect(await contentsOf(workspaceId)).toEqual({
    "in.txt": "in!",
    "lib/helper.py": "word = 'helped'",
    "out.txt": "helpedin",
  });
});

test("links, pipes and strange names are skipped with a reason, and nothing follows them", async () => {
  const workspaceId = await workspaceWith();
  const code =
    "ln -s /etc/passwd link; ln -s . loop; mkfifo fifo; printf x >'a\\b'; printf x >$'n\\xff'; truncate -s 300M sparse; mkdir -p d; ln -s / d/root; echo ok >kept";
  const { execution } = await sandbox.run("bash", code, { workspaceId });
  const changes = Object.fromEntries(
    execution.changes.map(({ path, kind, skippedReason }) => [path, [kind, skippedReason]]),
  );
  for (const [path, reason] of [
    ["link", "SYMLINK"],
    ["loop", "SYMLINK"],
    ["d/root", "SYMLINK"],
    ["fifo", "NOT_A_REGULAR_FILE"],
    ["sparse", "OVER_BYTE_LIMIT"],
  ] as const) {
    expect(changes[path]).toEqual([FileChange_Kind.SKIPPED, reason]);
  }
  expect(execution.changes.filter(({ kind }) => kind === FileChange_Kind.SKIPPED)).toHaveLength(7);
  expect(await contentsOf(workspaceId)).toEqual({ kept: "ok\n" });
});

test("two parallel runs that change the same file end in a conflict that names it", async () => {
  const workspaceId = await workspaceWith(file("shared", "0"));
  const runs = await Promise.all(
    ["a", "b"].map((word) =>
      sandbox.run("bash", `sleep 0.5; echo ${word} >shared; echo ${word} >own-${word}`, { workspaceId }),
    ),
  );
  const kinds = runs.flatMap(({ execution }) =>
    execution.changes.filter(({ path }) => path === "shared").map(({ kind }) => kind),
  );
  expect(kinds.sort()).toEqual([FileChange_Kind.MODIFIED, FileChange_Kind.CONFLICT].sort());
  const contents = await contentsOf(workspaceId);
  expect([contents["own-a"], contents["own-b"]]).toEqual(["a\n", "b\n"]);
});

test("a killed run changes nothing", async () => {
  const workspaceId = await workspaceWith(file("kept", "1"));
  const { execution } = await sandbox.run("bash", "echo 2 >kept; sleep 20", { workspaceId, limits: { wallMs: 500 } });
  expect(execution).toMatchObject({ verdict: Verdict.TIMEOUT_WALL, workspaceVersionAfter: 0n, changes: [] });
  expect(await contentsOf(workspaceId)).toEqual({ kept: "1" });
});

test("over its limits a change set is refused as a whole", async () => {
  const workspaceId = await workspaceWith(file("one", "1"));
  const many = Array.from({ length: 8 }, (_, i) => file(`f${i}`, "x"));
  await expect(sandbox.workspaces.putFiles({ workspaceId, files: many }, as())).rejects.toMatchObject({
    code: "RESOURCE_EXHAUSTED",
  });
  const tooMany = sandbox.workspaces.putFiles({ workspaceId, files: [...many, file("more", "x")] }, as());
  await expect(tooMany).rejects.toMatchObject({ code: "INVALID_ARGUMENT", violations: [{ field: "files" }] });
  const { execution } = await sandbox.run("bash", "for i in 1 2 3 4 5 6 7 8; do echo x >g$i; done", { workspaceId });
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, workspaceVersionAfter: 0n });
  expect(execution.changes.some(({ skippedReason }) => skippedReason.includes("allowed are 8 files"))).toBe(true);
  expect(Object.keys(await contentsOf(workspaceId))).toEqual(["one"]);
});

test("change sets are idempotent on request_id and checked against expected_version", async () => {
  const workspaceId = await workspaceWith();
  const request = { workspaceId, files: [file("a", "1")], requestId: newId() };
  const first = await sandbox.workspaces.putFiles(request, as());
  expect((await sandbox.workspaces.putFiles(request, as())).workspace).toEqual(first.workspace);
  const other = { ...request, files: [file("a", "2")] };
  await expect(sandbox.workspaces.putFiles(other, as())).rejects.toMatchObject({ code: "ALREADY_EXISTS" });
  const stale = { workspaceId, files: [file("a", "3")], expectedVersion: 0n };
  await expect(sandbox.workspaces.putFiles(stale, as())).rejects.toMatchObject({ code: "ABORTED" });
});

test("files are listed by glob in pages, read by range and searched in linear time", async () => {
  const workspaceId = await workspaceWith(
    file("a.ts", "one\ntwo Two\n"),
    file("src/b.ts", "two\r\n"),
    file("src/deep/c.md", "two"),
  );
  const page = await sandbox.workspaces.listFiles({ workspaceId, glob: "**/*.ts", pageSize: 1 }, as());
  const rest = await sandbox.workspaces.listFiles(
    { workspaceId, glob: "**/*.ts", pageSize: 1, pageToken: page.nextPageToken },
    as(),
  );
  expect([...page.files, ...rest.files].map(({ path }) => path)).toEqual(["a.ts", "src/b.ts"]);
  const range = await sandbox.workspaces.getFiles({ workspaceId, paths: ["a.ts"], offset: 4n, length: 3n }, as());
  expect(Buffer.from(range.files[0]?.content ?? []).toString()).toBe("two");
  const found = await sandbox.workspaces.searchFiles(
    { workspaceId, pattern: "^TWO", ignoreCase: true, glob: "" },
    as(),
  );
  expect(found.matches.map(({ path, line, text }) => [path, line, text])).toEqual([
    ["a.ts", 2, "two Two"],
    ["src/b.ts", 1, "two"],
    ["src/deep/c.md", 1, "two"],
  ]);
  // Backtracking would never end here.
  await sandbox.workspaces.putFiles({ workspaceId, files: [file("hostile", "a".repeat(20_000))] }, as());
  await sandbox.workspaces.searchFiles({ workspaceId, pattern: "(a+)+$x" }, as());
  await expect(sandbox.workspaces.searchFiles({ workspaceId, pattern: "(a)\\1" }, as())).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
  });
});

test("another tenant finds nothing, and a deleted workspace is gone for its own", async () => {
  const workspaceId = await workspaceWith(file("a", "1"));
  const stranger = sandbox.as("stranger");
  for (const call of [
    () => sandbox.workspaces.listFiles({ workspaceId }, stranger),
    () => sandbox.workspaces.getFiles({ workspaceId, paths: ["a"] }, stranger),
    () => sandbox.workspaces.putFiles({ workspaceId, files: [file("a", "2")] }, stranger),
    () => sandbox.workspaces.searchFiles({ workspaceId, pattern: "1" }, stranger),
    () => sandbox.run("bash", "true", { workspaceId, tenant: "stranger" }),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: "NOT_FOUND" });
  }
  await sandbox.workspaces.deleteWorkspace({ workspaceId }, stranger);
  expect(await contentsOf(workspaceId)).toEqual({ a: "1" });
  await sandbox.workspaces.deleteWorkspace({ workspaceId }, as());
  await sandbox.workspaces.deleteWorkspace({ workspaceId }, as());
  await expect(sandbox.workspaces.listFiles({ workspaceId }, as())).rejects.toMatchObject({ code: "NOT_FOUND" });
});
