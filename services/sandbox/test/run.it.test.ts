import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  // An answer does not wait for the removal of its container.
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

test.each([
  ["python", "import sys; print('out', sys.argv[1:]); print('err', file=sys.stderr); sys.exit(3)", "out ['a b']\n"],
  ["javascript", "console.log('out', process.argv.slice(2)); console.error('err'); process.exit(3)", "out [ 'a b' ]\n"],
  ["bash", 'echo out "$@"; echo err >&2; exit 3', "out a b\n"],
])("%s runs with arguments, both streams and its exit code", async (language, code, stdout) => {
  const seen = await sandbox.run(language, code, { arguments: ["a b"] });
  expect(seen.stdout.toString()).toBe(stdout);
  expect(seen.stderr.toString()).toBe("err\n");
  expect(seen.execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 3, killedBy: "", oomSeen: false });
});

test("files, environment and standard input arrive byte-exactly", async () => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const code = 'cat data/in.bin; cat; printf %s "$WORD" >&2';
  const options = { stdin: bytes, environment: { WORD: "grüße" }, files: [{ path: "data/in.bin", content: bytes }] };
  const seen = await sandbox.run("bash", code, options);
  expect(seen.stdout).toEqual(Buffer.concat([bytes, bytes]));
  expect(seen.stderr.toString()).toBe("grüße");
});

test("the execution can be read again by its id and its call id, and is listed", async () => {
  const callId = newId();
  const seen = await sandbox.run("bash", "echo kept", { callId, taskId: "task-1" });
  const as = sandbox.as(sandbox.tenant);
  const byCall = await sandbox.exec.getExecution({ key: { case: "callId", value: callId } }, as);
  expect(byCall.execution).toEqual(seen.execution);
  expect(Buffer.from(byCall.execution?.stdout?.head ?? []).toString()).toBe("kept\n");
  const listed = await sandbox.exec.listExecutions({ taskId: "task-1", pageSize: 10 }, as);
  expect(listed.executions.map(({ id }) => id)).toEqual([seen.execution.id]);
});
