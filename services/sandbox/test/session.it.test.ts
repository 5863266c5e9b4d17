import { subjects } from "@drover/bus";
import { newId } from "@drover/kernel";
import { ExecutionState, FileChange_Kind, Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest({ DROVER_SANDBOX_SESSION_IDLE_MS: "4000" });
});
afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  // An answer does not wait for the removal of its container.
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

const as = () => sandbox.as(sandbox.tenant);
const seconds = (s: number) => ({ seconds: BigInt(s), nanos: 0 });

async function newWorkspace(files: Record<string, string> = {}): Promise<string> {
  const { workspace } = await sandbox.workspaces.createWorkspace({}, as());
  const workspaceId = workspace?.id ?? "";
  if (Object.keys(files).length > 0) await put(workspaceId, files);
  return workspaceId;
}

async function put(workspaceId: string, files: Record<string, string>): Promise<void> {
  const given = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text), executable: false }));
  await sandbox.workspaces.putFiles({ workspaceId, files: given }, as());
}

async function contentOf(workspaceId: string, path: string): Promise<string> {
  const { files } = await sandbox.workspaces.getFiles({ workspaceId, paths: [path] }, as());
  return Buffer.from(files[0]?.content ?? []).toString();
}

async function start(taskId: string, workspaceId: string, command: string, more = {}): Promise<string> {
  const { execution } = await sandbox.exec.start({ callId: newId(), taskId, workspaceId, command, ...more }, as());
  return execution?.id ?? "";
}

async function read(executionId: string, more = {}) {
  const answer = await sandbox.exec.read({ executionId, ...more }, as());
  const text = (chunk: typeof answer.stdout) => Buffer.from(chunk?.data ?? []).toString();
  return { ...answer, out: text(answer.stdout), err: text(answer.stderr) };
}

async function shell(taskId: string, workspaceId: string, command: string, more = {}) {
  return await read(await start(taskId, workspaceId, command, more), { untilEnded: true, wait: seconds(30) });
}

test("commands share one container and the workspace follows them", async () => {
  const task = newId();
  const workspaceId = await newWorkspace({ "in.txt": "one\n" });
  const first = await shell(
    task,
    workspaceId,
    "cat in.txt; echo two >>in.txt; echo private >/tmp/kept; pwd; echo err >&2; exit 3",
  );
  expect(first).toMatchObject({ out: "one\n/workspace\n", err: "err\n" });
  expect(first.execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 3, state: ExecutionState.ENDED });
  expect(first.execution?.changes).toMatchObject([{ path: "in.txt", kind: FileChange_Kind.MODIFIED }]);
  expect(await contentOf(workspaceId, "in.txt")).toBe("one\ntwo\n");
  await put(workspaceId, { "in.txt": "three\n", "new/file": "x" });
  const second = await shell(task, workspaceId, "cat in.txt new/file /tmp/kept; rm in.txt");
  expect(second.out).toBe("three\nxprivate\n");
  await expect(contentOf(workspaceId, "in.txt")).rejects.toMatchObject({ code: "NOT_FOUND" });
  expect(await sandbox.containers()).toHaveLength(1);
  const other = await shell(newId(), await newWorkspace(), "ls -A; ls /tmp");
  expect(other.out).toBe("");
  expect(await sandbox.containers()).toHaveLength(2);
});

test("a command reaches the shell byte for byte, with the named environment alone", async () => {
  const command = `printf '%s|' "a  b" '$HOME' "grüße" 'x"y' \\\\ {root} {program}; cat <<'END'\n$X \`y\`\nEND\nenv | sort | cut -d= -f1 | tr '\\n' ' '`;
  const { out } = await shell(newId(), await newWorkspace(), command, { environment: { EXTRA: "1" } });
  const [printed, environment] = out.split("\nEXTRA");
  expect(printed).toBe('a  b|$HOME|grüße|x"y|\\|{root}|{program}|$X `y`'.replace("END", ""));
  expect(`EXTRA${environment}`).toBe("EXTRA HOME LANG PATH PWD SHLVL TMPDIR _ ");
});

test("a background command is read by position, commits at each read, takes input and is killed twice", async () => {
  const task = newId();
  const workspaceId = await newWorkspace();
  const id = await start(
    task,
    workspaceId,
    "echo begin; while read line; do echo got $line; echo $line >>log; done; sleep 60",
    {
      background: true,
    },
  );
  expect((await read(id, { wait: seconds(10) })).out).toBe("begin\n");
  const input = { executionId: id, data: Buffer.from("a\nb\n") };
  expect(await sandbox.exec.writeInput(input, as())).toMatchObject({ bytesWritten: 4n });
  expect(await sandbox.exec.writeInput(input, as())).toMatchObject({ bytesWritten: 4n });
  await vi.waitFor(async () => expect((await read(id)).out).toBe("begin\ngot a\ngot b\n"));
  expect(await contentOf(workspaceId, "log")).toBe("a\nb\n");
  expect((await read(id, { stdoutOffset: 6n })).out).toBe("got a\ngot b\n");
  expect((await read(id, { stdoutOffset: 6n })).out).toBe("got a\ngot b\n");
  expect(await read(id, { filter: "b$" })).toMatchObject({ out: "got b\n", stdout: { nextOffset: 18n } });
  expect((await read(id, { stdoutOffset: 99n })).stdout).toMatchObject({ offset: 18n, nextOffset: 18n });
  const beside = await shell(task, workspaceId, "cat log");
  expect(beside.out).toBe("a\nb\n");
  for (let kill = 0; kill < 2; kill++) {
    const { execution } = await sandbox.exec.signal({ executionId: id }, as());
    expect(execution).toMatchObject({ verdict: Verdict.CANCELLED, killedBy: "cancel" });
  }
  expect((await read(id, { stdoutOffset: 6n })).out).toBe("got a\ngot b\n");
});

test("what a command and another call changed both is a conflict that names the file", async () => {
  const task = newId();
  const workspaceId = await newWorkspace({ "same.txt": "0" });
  const id = await start(task, workspaceId, "read x; echo mine >same.txt", { background: true });
  await put(workspaceId, { "same.txt": "theirs" });
  await sandbox.exec.writeInput({ executionId: id, data: Buffer.from("go\n") }, as());
  const { execution } = await read(id, { untilEnded: true, wait: seconds(20) });
  expect(execution?.changes).toMatchObject([{ path: "same.txt", kind: FileChange_Kind.CONFLICT }]);
  expect(await contentOf(workspaceId, "same.txt")).toBe("theirs");
  expect((await shell(task, workspaceId, "cat same.txt")).out).toBe("theirs");
});

test("output over the cap shows its gap, and a time-out ends the command alone", async () => {
  const task = newId();
  const workspaceId = await newWorkspace();
  const seen = await shell(task, workspaceId, "yes 0123456789abcde | head -c 320000");
  const rest = await read(seen.execution?.id ?? "", { stdoutOffset: seen.stdout?.nextOffset });
  expect(seen.stdout).toMatchObject({ offset: 0n, nextOffset: 51_200n, bytesSeen: 320_000n });
  expect(rest.stdout).toMatchObject({ offset: 268_800n, nextOffset: 320_000n, missingBytes: 217_600n });
  const beside = await start(task, workspaceId, "read x; echo survived", { background: true });
  const late = await shell(task, workspaceId, "sleep 60", { timeout: seconds(1) });
  expect(late.execution).toMatchObject({ verdict: Verdict.TIMEOUT_WALL, killedBy: "timeout" });
  await sandbox.exec.writeInput({ executionId: beside, data: Buffer.from("x\n"), close: true }, as());
  expect((await read(beside, { untilEnded: true, wait: seconds(20) })).out).toBe("survived\n");
});

test("the same call id is one command; another body is refused", async () => {
  const workspaceId = await newWorkspace();
  const call = { callId: newId(), taskId: newId(), workspaceId, command: "echo x >>once; sleep 1" };
  const [a, b] = await Promise.all([sandbox.exec.start(call, as()), sandbox.exec.start(call, as())]);
  expect(a.execution?.id).toBe(b.execution?.id);
  await read(a.execution?.id ?? "", { untilEnded: true, wait: seconds(20) });
  expect(await contentOf(workspaceId, "once")).toBe("x\n");
  await expect(sandbox.exec.start({ ...call, command: "echo" }, as())).rejects.toMatchObject({
    code: "ALREADY_EXISTS",
  });
});

test("a one-shot run is read by its id while it runs and afterwards, and not by strangers", async () => {
  const started = Promise.withResolvers<string>();
  const onEvent = (kind: string, id: string) => kind === "started" && started.resolve(id);
  const running = sandbox.run("bash", "echo early; sleep 2; echo late", { onEvent });
  const id = await started.promise;
  expect(await read(id, { wait: seconds(5) })).toMatchObject({
    out: "early\n",
    execution: { state: ExecutionState.RUNNING },
  });
  await running;
  expect((await read(id, { stdoutOffset: 6n })).out).toBe("late\n");
  await expect(sandbox.exec.read({ executionId: id }, sandbox.as("stranger"))).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
});

test("the end of a session commits, ends its commands, and is harmless twice", async () => {
  const task = newId();
  const workspaceId = await newWorkspace();
  const id = await start(task, workspaceId, "echo done >file; echo ready; sleep 60", { background: true });
  await read(id, { wait: seconds(10) });
  for (let end = 0; end < 2; end++) await sandbox.exec.endSession({ taskId: task }, as());
  const { execution } = await read(id, { untilEnded: true, wait: seconds(10) });
  expect(execution).toMatchObject({ verdict: Verdict.CANCELLED });
  expect(await contentOf(workspaceId, "file")).toBe("done\n");
  const filters = { label: [`drover.task=${task}`] };
  expect(await sandbox.docker.listContainers({ all: true, filters })).toEqual([]);
});

test("a session whose container is lost loses its commands, not its files", async () => {
  const task = newId();
  const workspaceId = await newWorkspace();
  await shell(task, workspaceId, "echo kept >file");
  const id = await start(task, workspaceId, "sleep 60", { background: true });
  const filters = { label: [`drover.task=${task}`] };
  for (const { Id } of await sandbox.docker.listContainers({ filters })) await sandbox.docker.getContainer(Id).kill();
  const { execution } = await read(id, { untilEnded: true, wait: seconds(20) });
  expect(execution).toMatchObject({ verdict: Verdict.INFRA_LOST });
  expect((await shell(task, workspaceId, "cat file")).out).toBe("kept\n");
});

test("what cannot be a command is refused with its fields", async () => {
  const bad = { callId: "x", taskId: "", workspaceId: "w", command: "a\0b", environment: { "1": "x" } };
  await expect(sandbox.exec.start(bad, as())).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    message: expect.stringMatching(/call_id.*task_id.*workspace_id.*command.*environment/s),
  });
  await expect(read(newId())).rejects.toMatchObject({ code: "NOT_FOUND" });
});

test("the cancel of a task ends its session; an idle one ends by itself, and a new one has the files", async () => {
  const [cancelled, idle] = [newId(), newId()];
  const workspaceId = await newWorkspace();
  const id = await start(cancelled, workspaceId, "sleep 60", { background: true });
  sandbox.bus.publish(subjects.cancel(sandbox.tenant, cancelled), new Uint8Array());
  const { execution } = await read(id, { untilEnded: true, wait: seconds(20) });
  expect(execution).toMatchObject({ verdict: Verdict.CANCELLED });
  const busy = await start(newId(), await newWorkspace(), "echo up; read x; echo $x", { background: true });
  await shell(idle, workspaceId, "echo kept >file");
  await vi.waitFor(async () => expect(await sandbox.containers()).toHaveLength(1), { timeout: 15_000, interval: 200 });
  expect((await shell(idle, workspaceId, "cat file")).out).toBe("kept\n");
  // A command that nobody asked about for longer than that runs on, and its output is there.
  expect(await read(busy)).toMatchObject({ out: "up\n", execution: { state: ExecutionState.RUNNING } });
  await sandbox.exec.writeInput({ executionId: busy, data: Buffer.from("on\n") }, as());
  expect((await read(busy, { untilEnded: true, wait: seconds(20) })).out).toBe("up\non\n");
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 200 });
  expect((await read(busy, { stdoutOffset: 3n })).out).toBe("on\n");
});
