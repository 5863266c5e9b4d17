import { writeFile } from "node:fs/promises";
import { newId } from "@drover/kernel";
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";
import type { Container, ContainerRequest } from "../src/application/ports.ts";
import { KubeClient } from "../src/infrastructure/kubernetes/kube-client.ts";
import { KubernetesBackend } from "../src/infrastructure/kubernetes/kubernetes-backend.ts";
import { Pods } from "../src/infrastructure/kubernetes/pods.ts";
import { type OnFake, openOnFake } from "./kubernetes/backend-on-fake.ts";

let on: OnFake;
beforeAll(async () => {
  on = await openOnFake({ heartbeatMs: 50 });
});
afterAll(async () => {
  await on[Symbol.asyncDispose]();
});
afterEach(async () => {
  on.server.node.instead = undefined;
  on.server.newest = "v5";
  // Whatever went wrong, nothing is left.
  await expect.poll(() => on.server.node.names()).toEqual([]);
});

const signal = () => AbortSignal.timeout(30_000);
const request = (more: Partial<ContainerRequest> = {}): ContainerRequest => ({
  runId: newId(),
  taskId: "task-1",
  tenant: "t-1",
  image: on.image,
  limits: on.options.limits,
  lifetimeMs: 60_000,
  ...more,
});
const started = (more: Partial<ContainerRequest> = {}) => on.backend.start(request(more), signal());

async function shell(container: Container, command: string): Promise<string> {
  let output = "";
  await container.run({
    argv: ["/bin/bash", "-c", command],
    environment: { PATH: "/usr/bin:/bin" },
    stdin: new Uint8Array(),
    onStarted: () => undefined,
    onOutput: (_stream, bytes) => {
      output += Buffer.from(bytes).toString();
    },
  });
  return output;
}

test("a rotated token is read anew, and one that lags behind is tried once more", async () => {
  const { server, options } = on;
  server.token = "rotated";
  await writeFile(options.tokenFile, "rotated");
  server.fail("list", { status: 401, reason: "Unauthorized" });
  expect(await on.backend.health(signal())).toEqual({ ready: true, problem: "", advice: "", version: "v1.35.0-fake" });
});

test("a wrong token, no token file and no server are told apart", async () => {
  const { options } = on;
  const other = (more: object) => new KubernetesBackend({ ...options, ...more }).health(signal());
  const refused = await other({ tokenFile: "/no/such/file" });
  expect(refused).toMatchObject({ ready: false, problem: expect.stringContaining("401 Unauthorized") });
  expect(refused.advice).toContain("deploy/k8s/sandbox.yaml");
  expect((await other({ server: "https://127.0.0.1:1" })).problem).toContain("authority");
  expect((await other({ server: "http://127.0.0.1:1" })).problem).toContain("No Kubernetes API server answers");
});

test.each([
  [400, "BadRequest", "", "FAILED_PRECONDITION", "ENGINE_REFUSED"],
  [403, "Forbidden", "RuntimeClass is not found", "FAILED_PRECONDITION", "ENGINE_REFUSED"],
  [403, "Forbidden", "exceeded quota: runs", "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED"],
  [404, "NotFound", "namespaces not found", "FAILED_PRECONDITION", "ENGINE_REFUSED"],
  [409, "Conflict", "the object has been modified", "UNAVAILABLE", "ENGINE_FAILED"],
  [422, "Invalid", "spec is invalid", "FAILED_PRECONDITION", "ENGINE_REFUSED"],
  [500, "InternalError", "etcd", "UNAVAILABLE", "ENGINE_FAILED"],
])(
  "a creation that is refused with %i %s (%s) is %s, %s, and asked once",
  async (status, reason, message, code, said) => {
    const { server } = on;
    const before = server.manifests.length;
    server.fail("create", { status, reason, message });
    const failure = await started().catch((error: unknown) => error);
    expect(failure).toMatchObject({ code, reason: said });
    if (message !== "") expect((failure as Error).message).not.toContain(message);
    expect(server.manifests.length).toBe(before);
  },
);

test("429 is asked again when the server says so, also for a creation", async () => {
  const { server } = on;
  const before = server.manifests.length;
  server.fail("create", { status: 429, reason: "TooManyRequests", retryAfter: "1" });
  await using container = await started();
  expect(await shell(container, "echo up")).toBe("up\n");
  expect(server.manifests.length).toBe(before + 1);
});

test("a creation whose answer is lost leaves no Pod, and is not made twice", async () => {
  const { server } = on;
  const before = server.manifests.length;
  server.fail("create", "done-unanswered");
  await expect(started()).rejects.toMatchObject({ code: "UNAVAILABLE", reason: "ENGINE_UNAVAILABLE" });
  expect(server.manifests.length).toBe(before + 1);
});

test("the same run twice is one Pod, and the second start leaves the first alone", async () => {
  const runId = newId();
  await using container = await started({ runId });
  await expect(started({ runId })).rejects.toMatchObject({ code: "FAILED_PRECONDITION", reason: "POD_EXISTS" });
  expect(await shell(container, "echo alone")).toBe("alone\n");
});

test("reads and removals go on over failures, dropped connections, dropped and expired watches", async () => {
  const { server } = on;
  server.fail("get", { status: 503 }, "drop");
  server.fail("watch", "drop", "expired", { status: 410 });
  server.fail("attach", { status: 500 }, { status: 502 });
  server.fail("delete", { status: 500 }, "done-unanswered");
  {
    await using container = await started();
    expect(await shell(container, "echo through")).toBe("through\n");
  }
  expect(server.node.names()).toEqual([]);
});

test("lists are read in pages, and begin anew where they grew too old", async () => {
  const { server, options } = on;
  server.node.instead = { phase: "Pending" };
  const names = ["a", "b", "c"];
  for (const name of names) {
    const labels = { "drover.dev/service": "sandbox" };
    // A list reads no more of a Pod than its name and labels.
    server.node.create({ metadata: { name, labels } } as unknown as Parameters<typeof server.node.create>[0]);
  }
  const pods = new Pods(new KubeClient(options), options.namespace);
  server.fail("list", "pass", { status: 410, reason: "Expired" });
  expect((await pods.list(signal(), 1)).map(({ metadata }) => metadata.name)).toEqual(names);
  await Promise.all(names.map((name) => on.backend.remove(name)));
});

test("a server that is silent is not waited for beyond the signal, and what it did is removed", async () => {
  const { server } = on;
  server.fail("get", "silence");
  const late = on.backend.start(request(), AbortSignal.timeout(500));
  await expect(late).rejects.toMatchObject({ code: "UNAVAILABLE" });
});

test("no place for a Pod is a launch that fails with the scheduler's sentence", async () => {
  const message = "0/1 nodes are available: 1 Insufficient memory.";
  const conditions = [{ type: "PodScheduled", status: "False", reason: "Unschedulable", message }];
  on.server.node.instead = { phase: "Pending", conditions };
  const late = on.backend.start(request(), AbortSignal.timeout(300));
  const failure = {
    code: "FAILED_PRECONDITION",
    reason: "UNSCHEDULABLE",
    message: `No node takes the Pod: ${message}`,
  };
  await expect(late).rejects.toMatchObject(failure);
});

test("an image that nobody can pull fails the check, and one that runs is known by its digest", async () => {
  const waiting = { reason: "ImagePullBackOff" };
  on.server.node.instead = { phase: "Pending", containerStatuses: [{ state: { waiting } }] };
  await expect(on.backend.check("r/absent:1", signal())).rejects.toMatchObject({ reason: "IMAGE_MISSING" });
  on.server.node.instead = undefined;
  const [digest, again] = await Promise.all([
    on.backend.check(on.image, signal()),
    on.backend.check(on.image, signal()),
  ]);
  expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
  expect(again).toBe(digest);
  expect(await on.backend.check(`r/absent@${digest}`, signal())).toBe(digest);
});

test.each([
  [{ phase: "Failed", reason: "Evicted", message: "The node was low on memory." }, /evicted. The node was low/, false],
  [{ phase: "Failed", reason: "DeadlineExceeded" }, /outlived its lifetime/, false],
  [{ phase: "Unknown", reason: "NodeLost" }, /NodeLost/, false],
  [{ phase: "Failed", containerStatuses: [{ state: { terminated: { reason: "OOMKilled" } } }] }, /out of memory/, true],
])("a Pod that the cluster ends under a program is lost with its reason: %j", async (status, message, outOfMemory) => {
  await using container = await started();
  const running = expect(shell(container, "sleep 60")).rejects.toMatchObject({ reason: "CONTAINER_LOST", message });
  await on.server.node.end(container.id, status);
  await running;
  expect(container.alive).toBe(false);
  expect(await container.sawOutOfMemory()).toBe(outOfMemory);
});

test("a Pod that somebody else removes is lost", async () => {
  await using container = await started();
  const running = expect(shell(container, "sleep 60")).rejects.toMatchObject({ reason: "CONTAINER_LOST" });
  on.server.node.remove(container.id);
  await running;
});

test.each(["cut", "strange-channel"] as const)(
  "streams that break (%s) are lost before anything runs",
  async (fault) => {
    on.server.fail("attach", fault);
    await expect(started()).rejects.toMatchObject({ code: "UNAVAILABLE", reason: "CONTAINER_LOST" });
  },
);

test("a connection that is dead without saying so is noticed", async () => {
  on.server.fail("attach", "no-pong");
  await using container = await started();
  await expect(shell(container, "sleep 60")).rejects.toMatchObject({ reason: "CONTAINER_LOST" });
});

test("a server that refuses to attach is a typed failure", async () => {
  on.server.fail("attach", { status: 403, reason: "Forbidden" });
  await expect(started()).rejects.toMatchObject({ code: "FAILED_PRECONDITION", reason: "ENGINE_REFUSED" });
});

test("a server of version 4 is spoken to in version 4, one of version 5 is told the end of input", async () => {
  const { server } = on;
  for (const newest of ["v4", "v5"] as const) {
    server.newest = newest;
    const ends = server.inputEnds;
    {
      await using container = await started();
      expect(await shell(container, "echo same")).toBe("same\n");
    }
    expect(server.protocols.at(-1)).toBe(`${newest}.channel.k8s.io`);
    await expect.poll(() => server.inputEnds).toBe(newest === "v5" ? ends + 1 : ends);
  }
});

test("commands of a session run beside each other in one Pod", async () => {
  await using container = await started();
  const said: string[] = [];
  const start = (name: string, code: string) =>
    container.session?.start({
      argv: ["/bin/bash", "-c", code],
      environment: { PATH: "/usr/bin:/bin" },
      onStarted: () => undefined,
      onOutput: (_stream, bytes) => said.push(`${name} ${Buffer.from(bytes)}`),
    });
  const first = start("first", "read line; echo got $line; echo x >/workspace/made");
  const second = start("second", "echo up; sleep 60");
  await expect.poll(() => said).toEqual(["second up\n"]);
  first?.write(Buffer.from("a line\n"));
  expect(await first?.ended).toMatchObject({ exit: { code: 0 } });
  second?.signal(9);
  expect(await second?.ended).toMatchObject({ exit: { signal: 9 } });
  expect(said).toEqual(["second up\n", "first got a line\n"]);
  container.session?.pause(true);
  const changes: string[] = [];
  await container.collect({ maxFiles: 9, maxBytes: 99 }, async ({ path }) => void changes.push(path));
  container.session?.pause(false);
  expect(changes).toEqual(["made"]);
});
