import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { newId } from "@drover/kernel";
import type { LimitsSchema } from "@drover/proto/sandbox/v1/exec";
import { RunRequestSchema } from "@drover/proto/sandbox/v1/exec_service";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest();
});
afterAll(async () => {
  // Refused before any container existed, and before anything was recorded.
  expect(await sandbox.runsOfMadeContainers()).toEqual([]);
  const { executions } = await sandbox.exec.listExecutions({ pageSize: 100 }, as());
  expect(executions.map(({ message }) => message)).toEqual([]);
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
  await sandbox[Symbol.asyncDispose]();
});

const as = () => sandbox.as(sandbox.tenant);
const empty = (path: string) => ({ path, content: new Uint8Array() });
const refused = (field: string) => ({ code: "INVALID_ARGUMENT", violations: [expect.objectContaining({ field })] });

describe.each([
  ["a parent folder", "../x"],
  ["a hidden parent", "a/../../x"],
  ["an absolute path", "/etc/x"],
  ["a NUL", "a\u0000b"],
  ["a newline", "a\nb"],
  ["a separator of Windows", "..\\x"],
  ["a drive letter", "C:/x"],
  ["a drive letter without a folder", "c:x"],
  ["a device name", "a/CON"],
  ["a device name with an ending", "aux.txt"],
  ["256 bytes in a part", `a/${"x".repeat(256)}`],
  ["a thousand levels", Array(1000).fill("x").join("/").slice(0, 1000)],
  ["an empty part", "a//b"],
  ["nothing", ""],
])("a path with %s", (_name, path) => {
  test("is refused by its field in a run and in a change set", async () => {
    await expect(sandbox.run("bash", "true", { files: [empty("ok"), empty(path)] })).rejects.toMatchObject(
      refused("files[1].path"),
    );
    const { workspace } = await sandbox.workspaces.createWorkspace({}, as());
    const files = [{ ...empty(path), executable: false }];
    await expect(sandbox.workspaces.putFiles({ workspaceId: workspace?.id ?? "", files }, as())).rejects.toMatchObject(
      refused("files[0].path"),
    );
  });
});

test.each([
  ["one file the folder of another", ["a", "a/b"], "files[0].path"],
  ["the same path twice", ["a", "b", "a"], "files[2].path"],
])("%s is refused", async (_name, paths, field) => {
  await expect(sandbox.run("bash", "true", { files: paths.map(empty) })).rejects.toMatchObject(refused(field));
});

test("a hundred thousand files are refused, in a run and in a workspace", async () => {
  const files = Array.from({ length: 100_000 }, (_, i) => ({ ...empty(`f${i}`), executable: false }));
  await expect(sandbox.run("bash", "true", { files })).rejects.toMatchObject(refused("files"));
  const { workspace } = await sandbox.workspaces.createWorkspace({}, as());
  const put = sandbox.workspaces.putFiles({ workspaceId: workspace?.id ?? "", files }, as());
  await expect(put).rejects.toMatchObject(refused("files"));
});

test("a source that is not UTF-8 is refused before it is looked at", async () => {
  const lengthDelimited = 2;
  const code = { no: 4, wireType: lengthDelimited, data: Uint8Array.from([3, 0x61, 0xff, 0xfe]) };
  const request = create(RunRequestSchema, { callId: newId(), language: "bash", code: "true" });
  request.$unknown = [code];
  const run = async () => {
    for await (const _ of sandbox.exec.run(request, as())) expect.unreachable("It ran.");
  };
  await expect(run()).rejects.toMatchObject({ code: "INVALID_ARGUMENT", message: expect.stringContaining("code") });
});

test.each([
  ["the wall time", { wallMs: -1000 }, "limits.wall_time"],
  ["a part of a second", { wallMs: -1 }, "limits.wall_time"],
  ["the compile time", { compileMs: -1000 }, "limits.compile_time"],
  ["the CPU time", { cpuMs: -1000 }, "limits.cpu_time"],
  ["the memory", { memoryBytes: -1 }, "limits.memory_bytes"],
  ["the processes", { processes: -5 }, "limits.processes"],
  ["the output", { outputBytes: -1 }, "limits.output_bytes"],
])("a limit under zero is refused: %s", async (_name, limits, field) => {
  await expect(sandbox.run("bash", "true", { limits })).rejects.toMatchObject(refused(field));
});

test.each([
  ["the wall time", { wallMs: 600_001 }, "limits.wall_time", "600001 ms", "0 to 600000 ms"],
  ["the wall time, by months", { wallMs: 1e10 }, "limits.wall_time", "10000000000 ms", "0 to 600000 ms"],
  ["the compile time", { compileMs: 120_001 }, "limits.compile_time", "120001 ms", "0 to 120000 ms"],
  ["the CPU time", { cpuMs: 600_001 }, "limits.cpu_time", "600001 ms", "0 to 600000 ms"],
])("a time over its cap is refused with what is allowed: %s", async (_name, limits, field, found, allowed) => {
  await expect(sandbox.run("bash", "true", { limits })).rejects.toMatchObject({
    code: "INVALID_ARGUMENT",
    violations: [{ field, found, allowed }],
  });
});

test("a time of zero is no fault of its own, and a command's time is refused over its cap too", async () => {
  const limits = { wallMs: 0, compileMs: 0, cpuMs: 0 };
  await expect(sandbox.run("no such language", "true", { limits })).rejects.toMatchObject(refused("language"));
  const command = { callId: newId(), taskId: "t", workspaceId: newId(), command: "true" };
  for (const seconds of [-1n, 601n, 10_000_000_000n]) {
    const start = sandbox.exec.start({ ...command, timeout: { seconds, nanos: 0 } }, as());
    await expect(start).rejects.toMatchObject(refused("timeout"));
  }
});

test("a time under a millisecond is not taken for none, and 2^62 of anything is refused", async () => {
  const nanosecond = { seconds: 0n, nanos: 1 };
  const run = async (limits: MessageInitShape<typeof LimitsSchema>) => {
    const request = { callId: newId(), language: "bash", code: "true", limits };
    for await (const _ of sandbox.exec.run(request, as())) expect.unreachable("It ran.");
  };
  for (const [limits, field] of [
    [{ wallTime: nanosecond }, "limits.wall_time"],
    [{ cpuTime: nanosecond }, "limits.cpu_time"],
    [{ compileTime: { seconds: 1n, nanos: 1_000_000_000 } }, "limits.compile_time"],
    [{ wallTime: { seconds: 2n ** 62n, nanos: 0 } }, "limits.wall_time"],
    [{ memoryBytes: 2n ** 62n }, "limits.memory_bytes"],
    [{ outputBytes: 2n ** 62n }, "limits.output_bytes"],
  ] as const) {
    await expect(run(limits)).rejects.toMatchObject(refused(field));
  }
  const command = { callId: newId(), taskId: "t", workspaceId: newId(), command: "true" };
  await expect(sandbox.exec.start({ ...command, timeout: nanosecond }, as())).rejects.toMatchObject(refused("timeout"));
  const signal = sandbox.exec.signal({ executionId: newId(), grace: nanosecond }, as());
  await expect(signal).rejects.toMatchObject(refused("grace"));
});

test("a command is told as much as a program, and no more", async () => {
  const environment = Object.fromEntries(Array.from({ length: 40 }, (_, i) => [`V${i}`, "x".repeat(32_768)]));
  const command = { callId: newId(), taskId: "t", workspaceId: newId(), command: "true" };
  await expect(sandbox.exec.start({ ...command, environment }, as())).rejects.toMatchObject(refused("command"));
  const variable = { V: "x".repeat(131_069) };
  await expect(sandbox.exec.start({ ...command, environment: variable }, as())).rejects.toMatchObject({
    code: "NOT_FOUND",
  });
});

test("a NUL in any text is refused by its field, in every rpc", async () => {
  const nul = "a\u0000";
  const { exec, workspaces } = sandbox;
  const file = { path: "a", content: new Uint8Array(), executable: false };
  for (const [call, field] of [
    [workspaces.createWorkspace({ requestId: nul }, as()), "request_id"],
    [workspaces.putFiles({ workspaceId: newId(), files: [file], requestId: nul }, as()), "request_id"],
    [workspaces.getFiles({ workspaceId: newId(), paths: ["b", nul] }, as()), "paths[1]"],
    [workspaces.listFiles({ workspaceId: newId(), glob: nul }, as()), "glob"],
    [exec.listExecutions({ taskId: nul }, as()), "task_id"],
    [exec.endSession({ taskId: nul }, as()), "task_id"],
    [exec.getExecution({ key: { case: "callId", value: nul } }, as()), "call_id"],
  ] as const) {
    await expect(call).rejects.toMatchObject(refused(field));
  }
});

test("a deadline that is past before the call arrives is refused and starts nothing", async () => {
  const run = async () => {
    const request = { callId: newId(), language: "bash", code: "sleep 30" };
    for await (const _ of sandbox.exec.run(request, { ...sandbox.as("late"), timeoutMs: 0.001 }))
      expect.unreachable("It ran.");
  };
  await expect(run()).rejects.toMatchObject({ code: "DEADLINE_EXCEEDED" });
  await vi.waitFor(async () => {
    const { executions } = await sandbox.exec.listExecutions({}, sandbox.as("late"));
    for (const { endedAt, startedAt } of executions)
      expect([endedAt === undefined, startedAt]).toEqual([false, undefined]);
  });
});

test.each([
  ["an unknown language", { language: "cobol" }, "language"],
  ["no language", { language: "" }, "language"],
  ["a name of the engine's", { language: "../python" }, "language"],
  ["no program", { code: "" }, "code"],
  ["a call id that is no id", { callId: "1" }, "call_id"],
  ["a task id with a wildcard", { taskId: "a.>" }, "task_id"],
  ["a workspace id that is no id", { workspaceId: "w" }, "workspace_id"],
  ["a variable without a name", { environment: { "": "x" } }, "environment"],
  ["a variable with an equals sign", { environment: { "A=B": "x" } }, "environment"],
  ["a NUL in an argument", { arguments: ["a", "b\u0000"] }, "arguments[1]"],
])(
  "%s is refused by name",
  async (_name, { language = "bash", code = "true", ...options }: Partial<BadRequest>, field) => {
    await expect(sandbox.run(language, code, options)).rejects.toMatchObject(refused(field));
  },
);

type BadRequest = { language: string; code: string } & NonNullable<Parameters<SandboxUnderTest["run"]>[2]>;
