import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

const ready = 2;
let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest({ DROVER_SANDBOX_POOL_MIN: `bash=${ready}`, DROVER_SANDBOX_POOL_MAX: `${ready}` });
  await full();
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  // An answer does not wait for the removal of its container.
  await vi.waitFor(async () => expect(await sandbox.containers("all")).toEqual([]), { timeout: 15_000, interval: 50 });
});

async function metric(name: string): Promise<number> {
  const text = await (await fetch(`http://${sandbox.service.adminAddress}/metrics`)).text();
  return Number(new RegExp(`^${name}\\S* (\\S+)$`, "m").exec(text)?.[1] ?? 0);
}

/** Resolves when as many wait as shall, and nothing else is there. */
async function full(): Promise<void> {
  const wait = { timeout: 20_000, interval: 50 };
  await vi.waitFor(async () => expect(await metric("drover_sandbox_pool_ready")).toBe(ready), wait);
  await vi.waitFor(async () => expect(await sandbox.containers("all")).toHaveLength(ready), wait);
}

const hits = () => metric('drover_sandbox_pool_asked_total{answer="hit"');

test("a run gets a container that was there before it, alone, and it is gone afterwards", async () => {
  const before = await sandbox.containers("all");
  const hitsBefore = await hits();
  const { stdout, execution } = await sandbox.run("bash", "ls /workspace /tmp; echo mine >/tmp/mine; hostname");
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0 });
  const name = stdout.toString().trim().split("\n").at(-1) ?? "none";
  expect(before.filter((id) => id.startsWith(name))).toHaveLength(1);
  expect(stdout.toString()).toBe(`/tmp:\n\n/workspace:\nmain.sh\n${name}\n`);
  expect(await hits()).toBe(hitsBefore + 1);
  await full();
  expect((await sandbox.containers("all")).filter((id) => id.startsWith(name))).toEqual([]);
});

test("twenty runs, each in a container of its own", async () => {
  const names: string[] = [];
  for (let i = 0; i < 5; i++) {
    const four = Array.from({ length: 4 }, () => sandbox.run("bash", "hostname; ls -A /tmp; touch /tmp/left"));
    names.push(...(await Promise.all(four)).map(({ stdout }) => stdout.toString().trim()));
  }
  expect(new Set(names).size).toBe(20);
  expect(names.filter((name) => name.includes("left"))).toEqual([]);
  await full();
});

test("other limits hold: such a run starts a container of its own", async () => {
  const hitsBefore = await hits();
  const { stdout } = await sandbox.run(
    "bash",
    "cat /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max",
    {
      limits: { memoryBytes: 64 * 1024 ** 2 },
    },
  );
  expect(stdout.toString()).toBe(`${64 * 1024 ** 2}\n`);
  expect(await hits()).toBe(hitsBefore);
});

test("a container that is killed while it waits is replaced and never given away", async () => {
  await full();
  const old = await sandbox.containers("all");
  await Promise.all(old.map((id) => sandbox.docker.getContainer(id).kill()));
  const { execution } = await sandbox.run("bash", "echo hi");
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0 });
  await full();
  expect((await sandbox.containers("all")).filter((id) => old.includes(id))).toEqual([]);
});

test("the record of a run names the container it got, and by it the reaper finds whose it was", async () => {
  await full();
  const before = await sandbox.containers("all");
  const seen: Promise<string[]>[] = [];
  const onEvent = (kind: string) => kind === "data" && seen.push(sandbox.containers());
  const { execution } = await sandbox.run("bash", "echo up; sleep 1", { onEvent });
  const during = await seen[0];
  expect(during).toHaveLength(1);
  const [name = ""] = during ?? [];
  expect(before).toContain(name);
  // The same container in the hands of an instance that is gone for good, which nobody knows by its label.
  const labels = { "drover.service": "sandbox", "drover.expires": `${Date.now() + 3_600_000}`, "drover.task": "" };
  const others = await Promise.all(
    ["over", "unknown"].map((run) =>
      sandbox.docker.createContainer({
        Image: execution.image,
        Labels: { ...labels, "drover.owner": `gone-${newId()}/1`, "drover.run": `warm-${run}` },
        HostConfig: { NetworkMode: "none" },
      }),
    ),
  );
  const [over, unknown] = others.map(({ id }) => id);
  await sandbox.bind(execution.id, over ?? "");
  const left = async () => (await sandbox.docker.listContainers({ all: true })).map(({ Id }) => Id);
  await vi.waitFor(async () => expect(await left()).not.toContain(over), { timeout: 15_000, interval: 50 });
  expect(await left()).toContain(unknown);
  await sandbox.docker.getContainer(unknown ?? "").remove({ force: true });
  expect(await left()).not.toContain(name);
});

test("what a killed service had waiting is removed when it is back", async () => {
  const [any = ""] = await sandbox.containers("all");
  const { Config, HostConfig } = await sandbox.docker.getContainer(any).inspect();
  const owner = Config.Labels["drover.owner"]?.replace(/\/.*$/, "/dead");
  const left = await sandbox.docker.createContainer({
    Image: Config.Image,
    Labels: { ...Config.Labels, "drover.owner": owner ?? "", "drover.run": "warm-left" },
    HostConfig: { NetworkMode: HostConfig.NetworkMode ?? "none" },
  });
  await vi.waitFor(async () => expect(await sandbox.containers("all")).not.toContain(left.id), { timeout: 10_000 });
});
