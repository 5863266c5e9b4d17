import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { kernelLogsOutOfMemory } from "../src/infrastructure/docker/kernel-log.ts";

const [killed, other] = ["7d24cb35ca33", "1b7bd3e59ba7"].map((start) => start.padEnd(64, "0")) as [string, string];
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "drover-kernel-log-"));
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const killOf = (memcg: string) =>
  `6,1204,16586045834,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),mems_allowed=0,oom_memcg=${memcg},task_memcg=${memcg},task=exe,pid=1074,uid=65534\n`;

test.each([
  ["by the engine's cgroup", `/docker/${killed}`],
  ["by that of systemd", `/system.slice/docker-${killed}.scope`],
])("a kill is known %s, and no other container's", async (_, memcg) => {
  const log = join(folder, "kmsg");
  const noise = `6,1,1,-;docker0: port of ${other} entered blocking state\n`.repeat(1000);
  await writeFile(log, noise + killOf(memcg) + noise);
  expect(await kernelLogsOutOfMemory(killed, log)).toBe(true);
  expect(await kernelLogsOutOfMemory(other, log)).toBe(false);
});

test("a log that cannot be read says nothing", async () => {
  expect(await kernelLogsOutOfMemory(killed, join(folder, "absent"))).toBe(false);
});
