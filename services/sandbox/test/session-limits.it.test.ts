import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { onGvisor, type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

/** What ends a command of a session, and how truly it is told. */
let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest({
    // The memory is full before the CPU time is over, also where every system call goes through gVisor.
    DROVER_SANDBOX_CPU_TIME_MS: onGvisor() ? "6000" : "1500",
    DROVER_SANDBOX_MEMORY: `${128 << 20}`,
    DROVER_SANDBOX_SHELL_COMMANDS: "cat,dd,echo,false,head,read,rm,sleep,tail,true",
  });
});
afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

const as = () => sandbox.as(sandbox.tenant);
const seconds = (s: number) => ({ seconds: BigInt(s), nanos: 0 });

/** What is reachable in this process. */
function keptBytes(): number {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

/** A task with an empty workspace. */
async function newTask() {
  const { workspace } = await sandbox.workspaces.createWorkspace({}, as());
  const place = { taskId: newId(), workspaceId: workspace?.id ?? "" };
  const start = async (command: string, more = {}) =>
    (await sandbox.exec.start({ callId: newId(), ...place, command, ...more }, as())).execution?.id ?? "";
  const read = async (executionId: string, more = {}) => {
    const answer = await sandbox.exec.read({ executionId, ...more }, as());
    return { ...answer, out: Buffer.from(answer.stdout?.data ?? []).toString() };
  };
  const shell = async (command: string, more = {}) =>
    await read(await start(command, more), { untilEnded: true, wait: seconds(60) });
  return { place, start, read, shell };
}

test.each([
  ["spins", "while true; do true; done"],
  ["spins in two processes of which one is not waited for", "(while true; do true; done) & while true; do true; done"],
  ["spins in children that end soon", "while true; do ( for i in {1..3000}; do true; done ); done"],
  ["spins in orphans that end soon", "while true; do ( ( for i in {1..3000}; do true; done ) & ); sleep 0.02; done"],
])("a command that %s has its CPU time, and no other command pays for it", async (_, command) => {
  const { start, read, shell } = await newTask();
  const beside = await start("read x; echo $x", { background: true });
  const { execution } = await shell(command);
  expect(execution).toMatchObject({ verdict: Verdict.TIMEOUT_CPU, killedBy: "timeout" });
  await sandbox.exec.writeInput({ executionId: beside, data: Buffer.from("lives\n") }, as());
  const end = await read(beside, { untilEnded: true, wait: seconds(30) });
  expect(end).toMatchObject({ out: "lives\n", execution: { verdict: Verdict.EXITED } });
});

test("a command that is killed for memory ran out of it", async () => {
  const { shell } = await newTask();
  const { execution } = await shell("head -c 600M /dev/zero | tail -c 500M");
  // The shell outlives its child under runc; gVisor is one process of the host's kernel.
  if (onGvisor()) expect(execution).toMatchObject({ verdict: Verdict.OOM, oomSeen: true });
  else expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 137, oomSeen: true });
  const { execution: whole } = await shell("tail /dev/zero");
  expect(whole).toMatchObject({ verdict: Verdict.OOM, oomSeen: true, killedBy: "" });
  expect(await shell("echo after")).toMatchObject({ out: "after\n", execution: { oomSeen: false } });
});

test("a kill for memory is told of every command that ran then, also where the shell goes on", async () => {
  const { start, read, shell } = await newTask();
  const beside = await start("read x; false", { background: true });
  const { execution } = await shell("tail /dev/zero || true; echo end");
  // gVisor is one process of the host's kernel, and takes all commands with it.
  if (onGvisor()) {
    expect(execution).toMatchObject({ verdict: Verdict.OOM, oomSeen: true });
    const lost = await read(beside, { untilEnded: true, wait: seconds(30) });
    return expect(lost.execution).toMatchObject({ verdict: Verdict.OOM, oomSeen: true });
  }
  const message = "exited with 0. A process of its session was killed for memory.";
  expect(execution).toMatchObject({
    verdict: Verdict.EXITED,
    oomSeen: true,
    message: expect.stringContaining(message),
  });
  expect((await shell("true")).execution).toMatchObject({ verdict: Verdict.EXITED, oomSeen: false });
  await sandbox.exec.writeInput({ executionId: beside, data: Buffer.from("x\n") }, as());
  const neighbour = await read(beside, { untilEnded: true, wait: seconds(30) });
  return expect(neighbour.execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 1, oomSeen: true });
});

test("a command that fills /workspace says so, and the next one does not", async () => {
  const { shell } = await newTask();
  const full = await shell("dd if=/dev/zero of=big bs=1M");
  expect(full.execution).toMatchObject({ verdict: Verdict.DISK_LIMIT, exitCode: 1 });
  expect(await shell("rm big; echo small >small")).toMatchObject({
    execution: { verdict: Verdict.EXITED, exitCode: 0 },
  });
  expect((await shell("false")).execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 1 });
});

test("a request allows less than the configuration", async () => {
  const { start, shell } = await newTask();
  const allowedCommands = ["echo", "cat", "ls"];
  expect(await shell("cat <<END | cat\nls\nEND", { allowedCommands })).toMatchObject({ out: "ls\n" });
  for (const [command, name] of [
    ["echo $(rm x)", "rm"],
    ["f() { sleep 1; }; f", "sleep"],
    ["ls", "ls"],
  ]) {
    await expect(start(command ?? "", { allowedCommands })).rejects.toMatchObject({
      code: "PERMISSION_DENIED",
      message: expect.stringContaining(`"${name}" is not among those that are allowed: cat, echo.`),
    });
  }
});

test("readers of one position get the same bytes, a filter takes none away, and what was read stays", async () => {
  const { start, read } = await newTask();
  const id = await start("for i in 1 2 3 4; do echo line $i; echo odd $i; done; read x; echo end", {
    background: true,
  });
  const whole = "line 1\nodd 1\nline 2\nodd 2\nline 3\nodd 3\nline 4\nodd 4\n";
  await vi.waitFor(async () => expect((await read(id)).out).toBe(whole));
  const [a, b] = await Promise.all([read(id, { stdoutOffset: 7n }), read(id, { stdoutOffset: 7n })]);
  expect([a.out, b.out]).toEqual([whole.slice(7), whole.slice(7)]);
  const odd = await read(id, { filter: "^odd [34]$" });
  expect(odd).toMatchObject({ out: "odd 3\nodd 4\n", stdout: { nextOffset: BigInt(whole.length), missingBytes: 0n } });
  const none = await read(id, { filter: "nowhere" });
  expect(none).toMatchObject({ out: "", stdout: { nextOffset: BigInt(whole.length) } });
  expect((await read(id)).out).toBe(whole);
  await sandbox.exec.writeInput({ executionId: id, data: Buffer.from("\n") }, as());
  expect((await read(id, { untilEnded: true, wait: seconds(30) })).out).toBe(`${whole}end\n`);
  expect((await read(id, { stdoutOffset: 7n })).out).toBe(`${whole.slice(7)}end\n`);
});

test("a flood in the background costs bounded memory, shows its gap while it goes on, and is killed twice", async () => {
  const { start, read } = await newTask();
  const id = await start("dd if=/dev/zero bs=100000 count=600 status=none; read x", { background: true });
  const before = keptBytes();
  await vi.waitFor(async () => expect((await read(id)).stdout?.bytesSeen).toBe(60_000_000n), { timeout: 50_000 });
  // The service lives in this process: what it keeps of a stream is its cap, not the stream.
  await vi.waitFor(() => expect(keptBytes() - before).toBeLessThan(20_000_000), { timeout: 20_000, interval: 200 });
  const head = await read(id);
  expect(head.stdout).toMatchObject({ offset: 0n, nextOffset: 51_200n, missingBytes: 0n });
  const tail = await read(id, { stdoutOffset: 51_200n });
  expect(tail.stdout).toMatchObject({ offset: 59_948_800n, nextOffset: 60_000_000n, missingBytes: 59_897_600n });
  const kills = await Promise.all([0, 1].map(() => sandbox.exec.signal({ executionId: id }, as())));
  for (const { execution } of kills) expect(execution).toMatchObject({ verdict: Verdict.CANCELLED });
  expect((await read(id, { stdoutOffset: 51_200n })).stdout).toMatchObject({
    offset: 59_948_800n,
    missingBytes: 59_897_600n,
  });
});

test("of many commands at once sixteen are taken, and the others told to wait", async () => {
  const { place, start, shell } = await newTask();
  await shell("true");
  const begun = await Promise.allSettled(Array.from({ length: 24 }, () => start("sleep 60", { background: true })));
  expect(begun.filter(({ status }) => status === "fulfilled")).toHaveLength(16);
  for (const end of begun) {
    if (end.status === "rejected")
      expect(end.reason).toMatchObject({ code: "RESOURCE_EXHAUSTED", reason: "TOO_MANY_COMMANDS" });
  }
  await sandbox.exec.endSession({ taskId: place.taskId }, as());
});
