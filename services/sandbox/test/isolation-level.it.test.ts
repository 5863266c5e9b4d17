import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { expect, test } from "vitest";
import { startUnderTest } from "./sandbox-under-test.ts";

test("a hostile program proves the level before anything runs, and health says which", async () => {
  await using sandbox = await startUnderTest();
  expect((await sandbox.run("bash", "echo hi")).stdout.toString()).toBe("hi\n");
  const health = await sandbox.exec.checkHealth({}, sandbox.as(sandbox.tenant));
  expect(health).toMatchObject({ ready: true, problem: "", isolation: "hardened" });
  await expect.poll(() => sandbox.containers()).toEqual([]);
});

test("below its level the service is not ready, runs nothing and says what is missing", async () => {
  await using sandbox = await startUnderTest({ DROVER_SANDBOX_ISOLATION: "gvisor", DROVER_LOG_LEVEL: "silent" });
  await expect(sandbox.run("bash", "echo hi")).rejects.toMatchObject({
    code: "FAILED_PRECONDITION",
    reason: "ISOLATION_BELOW_LEVEL",
    message: "Isolation is below the level gvisor: programs do not run on gVisor's kernel.",
  });
  expect(await sandbox.exec.checkHealth({}, sandbox.as(sandbox.tenant))).toMatchObject({
    ready: false,
    problem: expect.stringContaining("gVisor's kernel"),
    advice: expect.stringContaining("DROVER_SANDBOX_RUNTIME"),
    isolation: "below gvisor",
  });
  const ready = await fetch(`http://${sandbox.service.adminAddress}/readyz`);
  expect(ready.status).toBe(503);
  expect(await ready.text()).toContain("isolation");
  await expect.poll(() => sandbox.containers()).toEqual([]);
});

test("an engine that does not map its users is below the level userns, and is told how to", async () => {
  await using sandbox = await startUnderTest({ DROVER_SANDBOX_ISOLATION: "userns", DROVER_LOG_LEVEL: "silent" });
  await expect(sandbox.run("bash", "echo hi")).rejects.toMatchObject({
    code: "FAILED_PRECONDITION",
    reason: "ISOLATION_BELOW_LEVEL",
    message: expect.stringContaining("user 65534 of the container is a user of the host itself"),
  });
  const health = await sandbox.exec.checkHealth({}, sandbox.as(sandbox.tenant));
  expect(health).toMatchObject({ ready: false, isolation: "below userns" });
  expect(health.advice).toContain('"userns-remap": "default"');
  await expect.poll(() => sandbox.containers()).toEqual([]);
});

test("with gVisor's runtime the level gvisor is reached and stands in the execution", async () => {
  await using sandbox = await startUnderTest({ DROVER_SANDBOX_ISOLATION: "gvisor", DROVER_SANDBOX_RUNTIME: "runsc" });
  const { execution, stdout } = await sandbox.run("python", "import platform; print(platform.release())");
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0, runtime: "runsc" });
  expect(stdout.toString()).toMatch(/^4\.4\.0/);
  expect(await sandbox.exec.checkHealth({}, sandbox.as(sandbox.tenant))).toMatchObject({
    ready: true,
    isolation: "gvisor",
  });
});

test("without a level everything runs, and health calls it unsafe", async () => {
  await using sandbox = await startUnderTest({ DROVER_SANDBOX_ISOLATION: "none", DROVER_LOG_LEVEL: "silent" });
  expect((await sandbox.run("bash", "echo hi")).stdout.toString()).toBe("hi\n");
  const health = await sandbox.exec.checkHealth({}, sandbox.as(sandbox.tenant));
  expect(health).toMatchObject({ ready: true, isolation: "none (UNSAFE)" });
});
