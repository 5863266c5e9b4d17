import { newId } from "@drover/kernel";
import { OutputStream, Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest();
});
afterAll(async () => {
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
  await sandbox[Symbol.asyncDispose]();
});

const waits = { timeout: 30_000, interval: 50 };
/** Ends what hangs, also on a machine under load. */
const longTest = { timeout: 240_000 };
const small = { memoryBytes: 64 << 20 };

test("of fifty runs at once, half of them hostile, none sees, hinders or outlasts another", longTest, async () => {
  const hostile = [
    "yes bad | head -c 500000",
    "kill -9 -1",
    "b() { b | b & }; b; sleep 1",
    "head -c 200M /dev/zero | tail -c 199M >/dev/null",
    "setsid sleep 600 & exit 0",
  ];
  const runs = await Promise.all(
    Array.from({ length: 50 }, (_, i) => {
      const code = i % 2 === 0 ? `echo run-${i}; ls /workspace` : `echo x >secret-${i}; ${hostile[i % hostile.length]}`;
      const tenant = i % 2 === 0 ? sandbox.tenant : "hostile";
      return sandbox.run("bash", code, { tenant, limits: { ...small, wallMs: 5000 } });
    }),
  );
  for (const [i, { execution, stdout }] of runs.entries()) {
    expect(execution.verdict).not.toBe(Verdict.INFRA_LOST);
    if (i % 2 === 0) expect(stdout.toString()).toBe(`run-${i}\nmain.sh\n`);
    else expect(stdout.toString()).not.toContain("run-");
  }
});

test("a megabyte that a program writes at once is whole in each of two hundred runs", longTest, async () => {
  const whole = Buffer.alloc(1_000_000, "y");
  const code = "head -c 1000000 /dev/zero | tr '\\0' y";
  const sizes: number[] = [];
  const caller = async () => {
    for (let i = 0; i < 25; i++) {
      const { stdout } = await sandbox.run("bash", code, { limits: { ...small, outputBytes: 1 << 20 } });
      sizes.push(stdout.equals(whole) ? 1_000_000 : stdout.length);
    }
  };
  await Promise.all(Array.from({ length: 8 }, caller));
  expect(sizes).toEqual(Array(200).fill(1_000_000));
});

test("a caller that stops reading does not hold up its run, and finds everything when it goes on", async () => {
  const callId = newId();
  const code = "head -c 900000 /dev/zero | tr '\\0' a; head -c 900000 /dev/zero | tr '\\0' b >&2; exit 3";
  const request = { callId, language: "bash", code, limits: { outputBytes: 1_000_000n } };
  const stream = sandbox.exec.run(request, sandbox.as(sandbox.tenant))[Symbol.asyncIterator]();
  expect((await stream.next()).value?.event.case).toBe("accepted");
  const key = { case: "callId" as const, value: callId };
  await vi.waitFor(async () => {
    const { execution } = await sandbox.exec.getExecution({ key }, sandbox.as(sandbox.tenant));
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 3 });
  }, waits);
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
  const sizes = { stdout: 0, stderr: 0 };
  let last: string | undefined;
  for (let next = await stream.next(); next.done !== true; next = await stream.next()) {
    const { event } = next.value;
    last = event.case;
    if (event.case !== "data") continue;
    sizes[event.value.stream === OutputStream.STDOUT ? "stdout" : "stderr"] += event.value.data.length;
  }
  expect(sizes).toEqual({ stdout: 900_000, stderr: 900_000 });
  expect(last).toBe("ended");
});

test("a container that an operator removes is lost, and nothing else", async () => {
  const onEvent = (kind: string) => {
    if (kind !== "data") return;
    void sandbox.containers().then(([id = ""]) => sandbox.docker.getContainer(id).remove({ force: true }));
  };
  const { execution, stdout } = await sandbox.run("bash", "echo up; sleep 600", { onEvent });
  expect(execution).toMatchObject({ verdict: Verdict.INFRA_LOST, oomSeen: false, killedBy: "", signal: "" });
  expect(stdout.toString()).toBe("up\n");
});
