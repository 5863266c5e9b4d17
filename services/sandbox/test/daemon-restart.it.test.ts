import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { imageOf, languageNamed } from "../src/domain/language.ts";
import { languages } from "../src/domain/languages.ts";
import { OwnDaemon } from "./own-daemon.ts";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

const image = imageOf(languageNamed("bash", languages), "drover/sandbox-");
const waits = { timeout: 30_000, interval: 100 };
let daemon: OwnDaemon;
let sandbox: SandboxUnderTest;
beforeAll(async () => {
  daemon = await OwnDaemon.with(image);
  sandbox = await startUnderTest({
    DOCKER_HOST: daemon.host,
    DROVER_LOG_LEVEL: "silent",
    DROVER_SANDBOX_POOL_MIN: "bash=2",
  });
});
afterAll(async () => {
  await sandbox?.[Symbol.asyncDispose]();
  await daemon?.[Symbol.asyncDispose]();
});

const as = () => sandbox.as(sandbox.tenant);
const containers = async () => (await daemon.docker.listContainers({ all: true })).map(({ Id }) => Id);

test.each(["ends its containers", "leaves its containers running"])(
  "a restart of a daemon that %s ends every run as lost, and the service goes on by itself",
  async () => {
    const stranger = await daemon.docker.createContainer({ Image: image, HostConfig: { NetworkMode: "none" } });
    await vi.waitFor(async () => expect(await containers()).toHaveLength(3), waits);
    const up = Array.from({ length: 3 }, () => Promise.withResolvers<void>());
    const runs = up.map(({ resolve }) =>
      sandbox.run("bash", "echo up; sleep 600", { onEvent: (kind) => kind === "data" && resolve() }),
    );
    const { workspace } = await sandbox.workspaces.createWorkspace({}, as());
    const session = { taskId: newId(), workspaceId: workspace?.id ?? "", background: true };
    const { execution: command } = await sandbox.exec.start(
      { ...session, callId: newId(), command: "sleep 600" },
      as(),
    );
    await Promise.all(up.map(({ promise }) => promise));
    const before = (await containers()).filter((id) => id !== stranger.id);
    expect(before.length).toBeGreaterThanOrEqual(4);
    await daemon.stop();
    for (const { execution, stdout } of await Promise.all(runs)) {
      expect(execution).toMatchObject({ verdict: Verdict.INFRA_LOST, killedBy: "", oomSeen: false });
      expect(stdout.toString()).toBe("up\n");
    }
    const key = { case: "id" as const, value: command?.id ?? "" };
    await vi.waitFor(async () => {
      const { execution } = await sandbox.exec.getExecution({ key }, as());
      expect(execution?.verdict).toBe(Verdict.INFRA_LOST);
    }, waits);
    await expect(sandbox.run("bash", "true")).rejects.toMatchObject({
      code: "UNAVAILABLE",
      reason: "ENGINE_UNAVAILABLE",
    });
    expect(await sandbox.exec.checkHealth({}, as())).toMatchObject({ ready: false });
    await daemon.start(true);
    await vi.waitFor(async () => {
      expect((await sandbox.run("bash", "echo back")).stdout.toString()).toBe("back\n");
    }, waits);
    expect(await sandbox.exec.checkHealth({}, as())).toMatchObject({ ready: true, problem: "" });
    await vi.waitFor(async () => {
      const left = await containers();
      expect(left.filter((id) => before.includes(id))).toEqual([]);
      expect(left).toContain(stranger.id);
    }, waits);
    await stranger.remove({ force: true });
  },
);
