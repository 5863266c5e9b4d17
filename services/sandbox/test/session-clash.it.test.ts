import { newId } from "@drover/kernel";
import { FileChange_Kind, Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { onGvisor, type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

/** What a command leaves in a session's folder and among its processes, and what others do meanwhile. */
let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest();
});
afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  // An answer does not wait for the removal of its container.
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

const as = () => sandbox.as(sandbox.tenant);
const seconds = (s: number) => ({ seconds: BigInt(s), nanos: 0 });
const { SKIPPED, CONFLICT, ADDED } = FileChange_Kind;

async function put(workspaceId: string, files: Record<string, string>): Promise<void> {
  const given = Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text), executable: false }));
  await sandbox.workspaces.putFiles({ workspaceId, files: given }, as());
}

async function held(workspaceId: string): Promise<Record<string, string>> {
  const { files } = await sandbox.workspaces.listFiles({ workspaceId }, as());
  const got = await sandbox.workspaces.getFiles({ workspaceId, paths: files.map(({ path }) => path) }, as());
  return Object.fromEntries(got.files.map(({ path, content }) => [path, Buffer.from(content).toString()]));
}

/** A task with a workspace, and its one session. */
async function task(files: Record<string, string> = {}) {
  const taskId = newId();
  const { workspace } = await sandbox.workspaces.createWorkspace({}, as());
  const workspaceId = workspace?.id ?? "";
  if (Object.keys(files).length > 0) await put(workspaceId, files);
  const start = async (command: string, more = {}) => {
    const { execution } = await sandbox.exec.start({ callId: newId(), taskId, workspaceId, command, ...more }, as());
    return execution?.id ?? "";
  };
  const read = async (executionId: string, more = {}) => {
    const { stdout, execution } = await sandbox.exec.read({ executionId, ...more }, as());
    const kinds = (execution?.changes ?? []).map(({ path, kind }) => [path, kind] as const);
    return { out: Buffer.from(stdout?.data ?? []).toString(), execution, kinds: Object.fromEntries(kinds) };
  };
  const shell = async (command: string, more = {}) =>
    await read(await start(command, more), { untilEnded: true, wait: seconds(60) });
  return { workspaceId, start, read, shell };
}

test("what a command left in the way of another call's files is told, and they come when the way is free", async () => {
  const { workspaceId, shell } = await task();
  await shell("mkdir -p a real ro; mkfifo a/p b; ln -s /dev d; ln -s real l; chmod 555 ro");
  const files = { a: "1", "b/f": "1", "d/null": "1", "l/f": "1", "ro/f": "1", new: "1" };
  await put(workspaceId, files);
  const second = await shell("ls real; [ -c /dev/null ] && echo c; cat new");
  expect(second).toMatchObject({ out: "c\n1", execution: { verdict: Verdict.EXITED, exitCode: 0 } });
  // Process 1 is root of gVisor's kernel, for whom a folder is never read-only.
  const readOnly = onGvisor() ? {} : { "ro/f": SKIPPED };
  expect(second.kinds).toMatchObject({ a: SKIPPED, "b/f": SKIPPED, "d/null": SKIPPED, "l/f": SKIPPED, ...readOnly });
  expect(second.kinds).not.toHaveProperty("new");
  expect(await held(workspaceId)).toEqual(files);
  const third = await shell("rm -r a b d l; mkdir l; echo mine >l/f; chmod 755 ro");
  expect(third.kinds).toMatchObject({ "l/f": CONFLICT });
  expect((await shell("cat a b/f d/null l/f ro/f")).out).toBe("11111");
  expect(await held(workspaceId)).toEqual(files);
});

test("a file for which there is no room is told, and what it would replace stays", async () => {
  const { workspaceId, shell } = await task({ old: "old" });
  await shell("dd if=/dev/zero of=big bs=4M 2>/dev/null; ls");
  await put(workspaceId, { old: "new".repeat(100_000) });
  const full = await shell("cat old; rm big");
  expect(full).toMatchObject({ out: "old", execution: { verdict: Verdict.EXITED } });
  expect(full.kinds).toMatchObject({ old: SKIPPED });
  expect((await shell("wc -c <old")).out).toBe("300000\n");
});

test("what cannot be brought in while a command runs is told in its changes, and each conflict names its cause", async () => {
  const { workspaceId, start, read, shell } = await task({ "d/a": "1", "e/a": "1", b: "1" });
  /** The files are put while the command waits. */
  const meanwhile = async (files: Record<string, string>, command: string) => {
    const id = await start(`read go; ${command}`, { background: true });
    await put(workspaceId, files);
    await sandbox.exec.writeInput({ executionId: id, data: Buffer.from("go\n") }, as());
    return await read(id, { untilEnded: true, wait: seconds(60) });
  };
  const alone = await meanwhile({ "e/a": "22" }, "rm -r e; ln -s /tmp e");
  expect(alone.kinds).toEqual({ e: SKIPPED, "e/a": SKIPPED });
  const files = { "d/a": "22", "e/a": "22", b: "22" };
  const both = await meanwhile(files, "rm -r d b; ln -s /tmp d; mkdir b; echo z >b/z; echo n >n");
  const all = { d: SKIPPED, "d/a": SKIPPED, e: SKIPPED, "e/a": SKIPPED, b: CONFLICT, "b/z": CONFLICT, n: ADDED };
  expect(both.kinds).toEqual(all);
  const changes = both.execution?.changes ?? [];
  expect(changes.find(({ path }) => path === "b/z")?.skippedReason).toMatch(/^"b" is a file in the workspace/);
  expect((await shell("rm d e; mkdir d")).kinds).toEqual({ "d/a": SKIPPED, "e/a": SKIPPED });
  expect(await shell("cat d/a e/a b")).toMatchObject({ out: "222222", kinds: {} });
  expect(await held(workspaceId)).toEqual({ ...files, n: "n\n" });
});

test("a file that is too large to be taken over is not replaced by another call's", async () => {
  const { workspaceId, shell } = await task({ t: "1" });
  expect((await shell("truncate -s 33M t")).kinds).toEqual({ t: SKIPPED });
  await put(workspaceId, { t: "theirs" });
  expect((await shell("true")).kinds).toEqual({ t: SKIPPED });
  expect(await shell("wc -c <t; echo mine >t")).toMatchObject({ out: `${33 << 20}\n`, kinds: { t: CONFLICT } });
  expect(await shell("cat t")).toMatchObject({ out: "theirs", kinds: {} });
});

test("a file that a command made unreadable is not replaced or removed by another call's", async () => {
  const { workspaceId, shell } = await task({ m: "1", "d/f": "1" });
  await shell("echo MINE >m; echo MINE >d/f; chmod 000 m; chmod 333 d");
  // Process 1 is root of gVisor's kernel: nothing is unreadable.
  if (onGvisor()) return expect(await held(workspaceId)).toEqual({ m: "MINE\n", "d/f": "MINE\n" });
  await put(workspaceId, { m: "theirs", "d/f": "theirs" });
  expect((await shell("true")).kinds).toEqual({ m: SKIPPED, d: SKIPPED, "d/f": SKIPPED });
  const readable = await shell("chmod 755 d m; cat m d/f");
  expect(readable).toMatchObject({ out: "MINE\nMINE\n", kinds: { m: CONFLICT, "d/f": CONFLICT } });
  expect(await shell("cat m d/f")).toMatchObject({ out: "theirstheirs", kinds: {} });
  return expect(await held(workspaceId)).toEqual({ m: "theirs", "d/f": "theirs" });
});

test("what is hidden or swapped for a link stays in the workspace", async () => {
  const files = { "d/f": "1", "e/f": "1", g: "1" };
  const { workspaceId, shell } = await task(files);
  const hidden = await shell("chmod 000 d; cp -r e /tmp/e; rm -r e; ln -s /tmp/e e; rm g; ln -s e/f g");
  const unreadable = onGvisor() ? {} : { d: SKIPPED };
  expect(hidden.kinds).toEqual({ e: SKIPPED, g: SKIPPED, ...unreadable });
  await shell("chmod 000 /workspace");
  await put(workspaceId, { h: "1" });
  await shell("true");
  expect(await held(workspaceId)).toEqual({ ...files, h: "1" });
});

test("a command that does nothing deletes nothing of what another call put behind a link", async () => {
  const { workspaceId, shell } = await task();
  await shell("mkdir real; ln -s real d");
  await put(workspaceId, { "d/f": "theirs" });
  expect((await shell("true")).kinds).toEqual({ d: SKIPPED, "d/f": SKIPPED });
  await shell("true");
  expect(await held(workspaceId)).toEqual({ "d/f": "theirs" });
});

test("what is written through a mapping is committed, whenever that is", async () => {
  const { workspaceId, start, read } = await task({ mapped: "0000" });
  // read(2) into the mapping is the one way in which Perl writes to memory.
  const program = `
    my ($map, $in) = \`uname -m\` =~ /x86/ ? (9, 0) : (222, 63);
    open(my $file, "+<", "mapped") or die; pipe(my $from, my $to); $to->autoflush(1); $| = 1;
    my $at = syscall($map, 0, 4096, 3, 1, fileno($file), 0);
    my $copy = unpack("P4", pack("J", $at)); print "mapped $copy\\n";
    while (my $line = <STDIN>) { print $to substr($line, 0, 4); syscall($in, fileno($from), $at, 4); print $line }`;
  const id = await start(`perl -MIO::Handle -e '${program}'`, { background: true });
  await vi.waitFor(async () => expect((await read(id)).out).toBe("mapped 0000\n"), { timeout: 10_000 });
  let typed = "";
  const type = async (text: string, more = {}) => {
    const input = { executionId: id, data: Buffer.from(`${text}\n`), offset: BigInt(typed.length), ...more };
    typed += `${text}\n`;
    await sandbox.exec.writeInput(input, as());
  };
  for (const text of ["1111", "2222"]) {
    await type(text);
    await vi.waitFor(async () => expect((await read(id)).out).toBe(`mapped 0000\n${typed}`), { timeout: 10_000 });
    await read(id);
    expect(await held(workspaceId)).toEqual({ mapped: text });
  }
  await type("3333", { close: true });
  await read(id, { untilEnded: true, wait: seconds(30) });
  expect(await held(workspaceId)).toEqual({ mapped: "3333" });
});

test("a daemon that left its command ends with it while another one runs, at the time limit too", async () => {
  const { start, shell, read } = await task();
  const beside = await start("read x; echo on", { background: true });
  const left =
    "(setsid sh -c 'echo $$ >/tmp/daemon; exec sleep 600' &); while [ ! -s /tmp/daemon ]; do sleep 0.01; done";
  expect(await shell(`${left}; echo left`)).toMatchObject({ out: "left\n", execution: { verdict: Verdict.EXITED } });
  expect((await shell("kill -0 $(cat /tmp/daemon) || echo gone; rm /tmp/daemon")).out).toBe("gone\n");
  const late = await shell(`${left}; trap '' TERM; sleep 600`, { timeout: seconds(1) });
  expect(late.execution).toMatchObject({ verdict: Verdict.TIMEOUT_WALL });
  expect((await shell("kill -0 $(cat /tmp/daemon) || echo gone; rm /tmp/daemon")).out).toBe("gone\n");
  // One that hides holds both pipes, and no end.
  expect(
    (await shell(left.replace("setsid sh -c '", "setsid sh -c 'echo 1000 >/proc/self/oom_score_adj; "))).execution,
  ).toMatchObject({ verdict: Verdict.EXITED });
  await sandbox.exec.writeInput({ executionId: beside, data: Buffer.from("x\n") }, as());
  expect((await read(beside, { untilEnded: true, wait: seconds(30) })).out).toBe("on\n");
});

test("what a command stopped stays stopped, however often it is read", async () => {
  const { start, read, shell } = await task();
  const id = await start("sleep 600 & echo $!; wait", { background: true });
  await vi.waitFor(async () => expect((await read(id)).out).toMatch(/^\d+\n$/), { timeout: 10_000 });
  const pid = Number((await read(id)).out);
  // On gVisor a signal takes its time, and one that is under way when all is made to stand still is undone with that.
  await shell(`kill -STOP ${pid}; sleep 0.5`);
  for (let i = 0; i < 3; i++) await read(id);
  expect((await shell(`cut -d' ' -f3 /proc/${pid}/stat`)).out).toBe("T\n");
  await sandbox.exec.signal({ executionId: id }, as());
});
