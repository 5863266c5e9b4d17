import { spawn } from "node:child_process";
import { once } from "node:events";
import { createConnection, createServer, type Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { createClient } from "@connectrpc/connect";
import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { ExecService } from "@drover/proto/sandbox/v1/exec_service";
import { WorkspaceService } from "@drover/proto/sandbox/v1/workspace_service";
import { actingAs, createIdentityMinter, createRpcTransport, generateIdentityKeys } from "@drover/rpc";
import { freshDatabase } from "@drover/testkit";
import Docker from "dockerode";
import { expect, inject, test, vi } from "vitest";
import { startUnderTest } from "./sandbox-under-test.ts";

/** The engine behind a door that can be shut. */
async function engineDoor() {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const engine = createConnection("/var/run/docker.sock");
    for (const socket of [client, engine]) {
      sockets.add(socket);
      socket.on("error", () => undefined).on("close", () => [client, engine].forEach((one) => void one.destroy()));
    }
    client.pipe(engine).pipe(client);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return {
    host: `tcp://127.0.0.1:${port}`,
    async shut() {
      const closed = once(server, "close");
      server.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
    async open() {
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
  };
}

test("without an engine a run is refused with advice, not kept waiting, and works again when it is back", async () => {
  const door = await engineDoor();
  await door.shut();
  await using sandbox = await startUnderTest({ DOCKER_HOST: door.host, DROVER_LOG_LEVEL: "silent" });
  const callId = newId();
  await expect(sandbox.run("bash", "echo hi", { callId })).rejects.toMatchObject({
    code: "UNAVAILABLE",
    reason: "ENGINE_UNAVAILABLE",
    message: expect.stringMatching(/^No Docker daemon answers\. Start Docker/),
  });
  const health = await sandbox.exec.checkHealth({}, sandbox.as(sandbox.tenant));
  expect(health).toMatchObject({
    ready: false,
    problem: expect.stringContaining(door.host),
    advice: expect.stringContaining("Start Docker"),
  });
  await door.open();
  expect((await sandbox.run("bash", "echo hi", { callId })).stdout.toString()).toBe("hi\n");
  expect(await sandbox.exec.checkHealth({}, sandbox.as(sandbox.tenant))).toMatchObject({
    ready: true,
    problem: "",
    isolation: "hardened",
  });
  await door.shut();
});

test("an engine that goes away while a program runs is INFRA_LOST, and the container is reaped when it is back", async () => {
  const door = await engineDoor();
  await using sandbox = await startUnderTest({ DOCKER_HOST: door.host, DROVER_LOG_LEVEL: "silent" });
  const onEvent = (kind: string) => kind === "started" && void door.shut();
  const { execution } = await sandbox.run("bash", "echo before; sleep 20", { onEvent });
  expect(execution).toMatchObject({ verdict: Verdict.INFRA_LOST });
  await door.open();
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 10_000, interval: 200 });
  expect((await sandbox.run("bash", "echo after")).stdout.toString()).toBe("after\n");
  await door.shut();
});

test("an image that is missing is a precondition that names the command, and the call id stays free", async () => {
  await using sandbox = await startUnderTest({ DROVER_SANDBOX_IMAGE_PREFIX: "drover/absent-" });
  const callId = newId();
  for (const code of ["true", "another body"]) {
    await expect(sandbox.run("bash", code, { callId })).rejects.toMatchObject({
      code: "FAILED_PRECONDITION",
      message: expect.stringContaining("make images"),
    });
  }
  const health = await sandbox.exec.checkHealth({}, sandbox.as(sandbox.tenant));
  expect(health).toMatchObject({ ready: false, advice: "Run `make images`." });
  const { languages } = await sandbox.exec.listLanguages({}, sandbox.as(sandbox.tenant));
  const names = ["python", "javascript", "typescript", "bash", "c", "cpp", "go", "rust", "java"];
  expect(languages.map(({ name, available }) => [name, available])).toEqual(names.map((name) => [name, false]));
});

const waits = { timeout: 30_000, interval: 100 };

async function containersOf(instance: string) {
  const found = await new Docker().listContainers({ all: true, filters: { label: ["drover.service=sandbox"] } });
  return found.filter(({ Labels }) => Labels["drover.owner"]?.startsWith(`${instance}/`));
}

test("a service that is killed leaves no container, and its runs end as lost after its restart", async () => {
  await using stack = new AsyncDisposableStack();
  const directory = fileURLToPath(new URL("../migrations", import.meta.url));
  const database = stack.use(await freshDatabase({ service: "sandbox", directory }));
  const keys = await generateIdentityKeys();
  const instance = `kill-${newId()}`;
  const env = {
    PATH: process.env.PATH ?? "",
    DATABASE_URL: database.url,
    NATS_URL: inject("natsUrl"),
    DROVER_LISTEN: "127.0.0.1:0",
    DROVER_ADMIN_LISTEN: "127.0.0.1:0",
    DROVER_IDENTITY_PUBLIC_KEYS: keys.publicKeys,
    DROVER_SANDBOX_INSTANCE: instance,
    DROVER_SANDBOX_POOL_MIN: "bash=2",
  };
  const start = async () => {
    const child = spawn(process.execPath, [fileURLToPath(new URL("../src/main.ts", import.meta.url))], {
      env,
      stdio: ["ignore", "pipe", "inherit"],
    });
    stack.defer(() => void child.kill("SIGKILL"));
    let text = "";
    for await (const chunk of child.stdout) {
      text += String(chunk);
      const address = /"address":"([^"]+)"/.exec(text)?.[1];
      if (address !== undefined) return { child, address };
    }
    throw new Error(`The service did not start: ${text}`);
  };
  const minter = await createIdentityMinter({ privateKey: keys.privateKey, issuer: "gateway" });
  const transportTo = (address: string) =>
    stack.use(createRpcTransport({ addresses: address, audience: "sandbox", minter }));
  const clientOf = (address: string) => createClient(ExecService, transportTo(address));
  const call = () => ({ contextValues: actingAs({ tenant: "t", subject: "s", scopes: ["exec:run", "exec:read"] }) });
  const first = await start();
  // The first two get containers that were started ahead, one gets its own.
  const runs = [{}, {}, { memoryBytes: 64n << 20n }].map((limits) => ({ callId: newId(), limits }));
  const failed = runs.map(async ({ callId, limits }) => {
    const started = Promise.withResolvers<void>();
    const lost = (async () => {
      const request = { callId, limits, language: "bash", code: "sleep 60" };
      for await (const { event } of clientOf(first.address).run(request, call())) {
        if (event.case === "started") started.resolve();
      }
    })();
    const end = expect(lost).rejects.toMatchObject({ code: "UNAVAILABLE" });
    await started.promise;
    return { end };
  });
  const ends = await Promise.all(failed);
  const workspaces = createClient(WorkspaceService, transportTo(first.address));
  const workspaceId = (await workspaces.createWorkspace({}, call())).workspace?.id ?? "";
  const command = { callId: newId(), taskId: newId(), workspaceId, command: "sleep 60", background: true };
  await clientOf(first.address).start(command, call());
  const dead = (await containersOf(instance)).map(({ Id }) => Id);
  expect(dead.length).toBeGreaterThanOrEqual(4);
  const docker = new Docker();
  const owner = { "drover.service": "sandbox", "drover.owner": `${instance}-other/1`, "drover.run": newId() };
  const stranger = await docker.createContainer({
    Image: "drover/base:trixie",
    Cmd: ["true"],
    Labels: { ...owner, "drover.expires": `${Date.now() + 3_600_000}` },
    HostConfig: { NetworkMode: "none" },
  });
  stack.defer(() => stranger.remove({ force: true }));
  first.child.kill("SIGKILL");
  await Promise.all(ends.map(({ end }) => end));
  const second = await start();
  const client = clientOf(second.address);
  for (const { callId } of runs) {
    await vi.waitFor(async () => {
      const { execution } = await client.getExecution({ key: { case: "callId", value: callId } }, call());
      expect(execution).toMatchObject({ verdict: Verdict.INFRA_LOST, message: expect.stringContaining("restarted") });
    }, waits);
  }
  const again = await client.start(command, call());
  expect(again).toMatchObject({ existing: true, execution: { verdict: Verdict.INFRA_LOST } });
  const left = async () => (await containersOf(instance)).filter(({ Id }) => dead.includes(Id));
  await vi.waitFor(async () => expect(await left()).toEqual([]), waits);
  await expect(stranger.inspect()).resolves.toMatchObject({ Id: stranger.id });
  second.child.kill("SIGTERM");
  await once(second.child, "exit");
  expect(await containersOf(instance)).toEqual([]);
});
