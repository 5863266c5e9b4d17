import { readFile } from "node:fs/promises";
import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest({ DROVER_SANDBOX_HARD_OUTPUT: "2GiB" }, 16 << 20);
});
afterAll(async () => {
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
  await sandbox[Symbol.asyncDispose]();
});

const gigabyte = 1n << 30n;
/** Far below what was written, far above what a garbage collector leaves lying about. */
const slack = 256 << 20;
const cap = 102_400;

/** Resident bytes of the engine's daemon. */
async function daemonMemory(): Promise<number> {
  const pid = (await readFile("/var/run/docker.pid", "utf8")).trim();
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) * 1024;
}

test("a gigabyte in one line is counted to the byte, and neither service, daemon nor disk grows by it", async () => {
  const before = { service: process.memoryUsage().rss, daemon: await daemonMemory() };
  const inspected: Promise<{ LogPath: string; SizeRw?: number }>[] = [];
  const onEvent = (kind: string) => {
    if (kind !== "started") return;
    inspected.push(
      sandbox.containers().then(async ([id = ""]) => {
        // The engine takes `size`; the client's types do not know it.
        const container = sandbox.docker.getContainer(id) as unknown as {
          inspect(options: { size: boolean }): Promise<{ LogPath: string; SizeRw?: number }>;
        };
        return await container.inspect({ size: true });
      }),
    );
  };
  const { execution, stdout } = await sandbox.run("bash", "head -c 1G /dev/zero; sleep 1", {
    onEvent,
    limits: { wallMs: 55_000 },
  });
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0 });
  expect(execution.stdout).toMatchObject({ bytesSeen: gigabyte, bytesDropped: gigabyte - BigInt(cap) });
  expect(stdout.equals(Buffer.alloc(cap))).toBe(true);
  expect(await inspected[0]).toMatchObject({ LogPath: "", SizeRw: 0 });
  expect(process.memoryUsage().rss - before.service).toBeLessThan(slack);
  expect((await daemonMemory()) - before.daemon).toBeLessThan(slack);
  expect((await sandbox.run("bash", "echo alive")).stdout.toString()).toBe("alive\n");
});

test.each([
  ["never reads it", "exit 3", 3],
  ["closes it", "exec <&-; sleep 0.2; exit 4", 4],
])("ten megabytes of input to a program that %s hold nothing up", async (_name, code, exitCode) => {
  const { execution } = await sandbox.run("bash", code, { stdin: Buffer.alloc(10_000_000, "x"), callId: newId() });
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode });
});

test("ten megabytes of input arrive whole, without a newline at their end", async () => {
  const { stdout } = await sandbox.run("bash", "wc -cl", { stdin: Buffer.alloc(10_000_000, "x") });
  expect(stdout.toString().trim().split(/\s+/)).toEqual(["0", "10000000"]);
});
