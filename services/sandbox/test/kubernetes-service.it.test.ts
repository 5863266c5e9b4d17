import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type OnFake, openOnFake } from "./kubernetes/backend-on-fake.ts";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let on: OnFake;
let sandbox: SandboxUnderTest;
beforeAll(async () => {
  on = await openOnFake();
  sandbox = await startUnderTest(environment());
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  const left = on.server.node.names();
  await on[Symbol.asyncDispose]();
  expect(left).toEqual([]);
});

const environment = () => ({
  DROVER_SANDBOX_BACKEND: "kubernetes",
  DROVER_SANDBOX_KUBERNETES_API: on.server.url,
  DROVER_SANDBOX_KUBERNETES_TOKEN_FILE: on.options.tokenFile,
  DROVER_SANDBOX_POOL_MAX: "0",
  DROVER_SANDBOX_START_TIMEOUT_MS: "5000",
  DROVER_LOG_LEVEL: "silent",
});

/** Runs a program and does something to its Pod as soon as it has begun. */
async function disturbed(disturb: (pod: string) => unknown) {
  const onEvent = (kind: string, executionId: string) => {
    if (kind === "started") disturb(`drover-run-${executionId}`);
  };
  return (await sandbox.run("bash", "sleep 60", { onEvent })).execution;
}

test("the isolation level is proven on Pods, and a run says what confined it", async () => {
  const health = await sandbox.exec.checkHealth({}, sandbox.as(sandbox.tenant));
  expect(health).toMatchObject({ ready: true });
  const { execution, stdout } = await sandbox.run("bash", "cat; pwd", { stdin: Buffer.from("in\n") });
  expect(String(stdout)).toBe("in\n/workspace\n");
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0 });
  expect(execution.imageDigest).toMatch(/^sha256:/);
  expect(execution.appliedLimits?.processes).toBe(0);
  await expect(sandbox.run("bash", "true", { limits: { processes: 64 } })).rejects.toThrow(/limits.processes/);
});

test("what the cluster does to a Pod is the run's verdict", async () => {
  const { node } = on.server;
  const evicted = await disturbed((pod) =>
    node.end(pod, { phase: "Failed", reason: "Evicted", message: "low on disk" }),
  );
  expect(evicted).toMatchObject({ verdict: Verdict.INFRA_LOST, message: expect.stringContaining("low on disk") });
  const terminated = { reason: "OOMKilled", exitCode: 137 };
  const killed = await disturbed((pod) =>
    node.end(pod, { phase: "Failed", containerStatuses: [{ state: { terminated } }] }),
  );
  expect(killed).toMatchObject({ verdict: Verdict.OOM, oomSeen: true });
  const removed = await disturbed((pod) => node.remove(pod));
  expect(removed.verdict).toBe(Verdict.INFRA_LOST);
});

test("what the cluster does not start is LAUNCH_FAILED with the reason", async () => {
  const { node } = on.server;
  const message = "0/1 nodes are available.";
  node.instead = {
    phase: "Pending",
    conditions: [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }],
  };
  const unplaced = await sandbox.run("bash", "true");
  node.instead = { phase: "Pending", containerStatuses: [{ state: { waiting: { reason: "CreateContainerError" } } }] };
  const refused = await sandbox.run("bash", "true");
  node.instead = undefined;
  const failed = { verdict: Verdict.LAUNCH_FAILED };
  expect(unplaced.execution).toMatchObject({ ...failed, message: expect.stringContaining(message) });
  expect(refused.execution).toMatchObject({ ...failed, message: expect.stringContaining("CreateContainerError") });
});

test("the reaper finds a Pod by its labels and removes it when it has expired", async () => {
  const { node } = on.server;
  const [runId, fresh] = [newId(), newId()];
  const request = { taskId: "", tenant: "t", image: on.image, limits: on.options.limits };
  await using other = await on.backend.start(
    { ...request, runId: fresh, lifetimeMs: 60_000 },
    AbortSignal.timeout(30_000),
  );
  // It may be gone before it has begun.
  const stray = on.backend.start({ ...request, runId, lifetimeMs: 1 }, AbortSignal.timeout(30_000));
  await stray.catch(() => undefined);
  expect(on.server.manifests.at(-1)?.metadata.labels["drover.dev/run"]).toBe(runId);
  await expect.poll(() => node.names()).toEqual([other.id]);
});

test("with a RuntimeClass of gVisor its level is proven, and containers are kept ready as elsewhere", async () => {
  await using other = await startUnderTest({
    ...environment(),
    DROVER_SANDBOX_KUBERNETES_RUNTIME_CLASS: "runsc",
    DROVER_SANDBOX_ISOLATION: "gvisor",
    DROVER_SANDBOX_POOL_MAX: "1",
    DROVER_SANDBOX_POOL_MIN: "bash=1",
    DROVER_SANDBOX_START_TIMEOUT_MS: "30000",
  });
  const warm = () => on.server.node.names().filter((name) => name.startsWith("drover-run-warm-"));
  const health = await other.exec.checkHealth({}, other.as(other.tenant));
  expect(health).toMatchObject({ ready: true, problem: "", isolation: "gvisor" });
  await expect.poll(warm).toHaveLength(1);
  const [ready] = warm();
  const { execution, stdout } = await other.run("bash", "echo hi");
  expect(String(stdout)).toBe("hi\n");
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, runtime: "runsc" });
  // The first runs may have come before it was ready.
  const used = async () => {
    await other.run("bash", "true");
    return !on.server.node.names().includes(ready ?? "");
  };
  await expect.poll(used).toBe(true);
});
