import { newId } from "@drover/kernel";
import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { type Answer, type Asked, type FakeDaemon, startFakeDaemon } from "./fake-daemon/fake-daemon.ts";
import { daemonFrame, type ProgramScript } from "./fake-daemon/fake-process1.ts";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let daemon: FakeDaemon;
let sandbox: SandboxUnderTest;
beforeAll(async () => {
  daemon = await startFakeDaemon();
  sandbox = await startUnderTest({
    DOCKER_HOST: daemon.host,
    DROVER_SANDBOX_ISOLATION: "none",
    DROVER_LOG_LEVEL: "silent",
    DROVER_SANDBOX_POOL_MAX: "0",
    DROVER_SANDBOX_START_TIMEOUT_MS: "1500",
  });
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  await daemon[Symbol.asyncDispose]();
});

const waits = { timeout: 15_000, interval: 20 };
const run = (options: Parameters<SandboxUnderTest["run"]>[2] = {}) => sandbox.run("bash", "true", options);
const text = (word: string) => Buffer.from(word);
const noneLeft = () => vi.waitFor(() => expect([...daemon.containers.keys()]).toEqual([]), waits);

/** Answers one route in a way of its own. */
function on(step: string, give: Answer, times = Number.POSITIVE_INFINITY) {
  return ({ method, route }: Asked, nth: number) => (`${method} ${route}` === step && nth <= times ? give : undefined);
}

describe("what is asked of the daemon", () => {
  test("attach comes before wait for the next exit, and that before start; removal is the last step", async () => {
    daemon.play({});
    expect((await run({ stdin: text("in") })).execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0 });
    const order = ["create", ":id/attach", ":id/wait", ":id/start"].map((step) => `POST /containers/${step}`);
    const steps = daemon.steps();
    expect(steps.slice(0, 4)).toEqual(order);
    expect(steps.at(-1)).toBe("DELETE /containers/:id");
    const query = (route: string) =>
      Object.fromEntries(daemon.asked.find((asked) => asked.route.endsWith(route))?.query ?? []);
    expect(query("/wait")).toEqual({ condition: "next-exit" });
    expect(query("/attach")).toMatchObject({ stream: "true", stdin: "true", stdout: "true", stderr: "true" });
    const removal = daemon.asked.find(({ method }) => method === "DELETE");
    expect(Object.fromEntries(removal?.query ?? [])).toEqual({ force: "true", v: "true" });
    await noneLeft();
  });

  test("code, files and input are never in the request, and nothing asks for logs, copies, commands or another filter", async () => {
    daemon.play({});
    const secret = "do-not-show";
    await sandbox.run("bash", `echo ${secret}`, {
      files: [{ path: `f-${secret}`, content: text(secret) }],
      arguments: [secret],
      environment: { V: secret },
      stdin: text(secret),
    });
    const create = daemon.asked.find(({ route }) => route === "/containers/create");
    expect(JSON.stringify(daemon.asked.map(({ query, body }) => [[...query], body]))).not.toContain(secret);
    expect(create?.body.HostConfig).toMatchObject({
      AutoRemove: false,
      SecurityOpt: ["no-new-privileges:true"],
      LogConfig: { Type: "none" },
      ShmSize: 16 << 20,
    });
    const routes = daemon.asked.map(({ route }) => route).join(" ");
    expect(routes).not.toMatch(/archive|exec|logs|update|copy/);
    await noneLeft();
  });
});

describe("the attached stream", () => {
  const output: ProgramScript = (program) => {
    for (let i = 0; i < 2000; i++) {
      program.stdout(text(`o${i} `));
      program.stderr(text(`e${i} `));
    }
    program.exit({ code: 3 });
  };
  const expected = (letter: string) => Array.from({ length: 2000 }, (_, i) => `${letter}${i} `).join("");

  test.each<[string, (bytes: Buffer) => Buffer[]]>([
    ["in single bytes", (bytes) => [...bytes].map((byte) => Buffer.from([byte]))],
    ["in pieces of seven bytes", (bytes) => pieces(bytes, 7)],
    [
      "in daemon frames of one byte",
      (bytes) => [...bytes.subarray(8)].map((byte) => daemonFrame(1, Buffer.from([byte]))),
    ],
    ["with empty frames between", (bytes) => [daemonFrame(1, text("")), bytes, daemonFrame(2, text(""))]],
    ["with words of the runtime on stderr between", (bytes) => [daemonFrame(2, text("runtime: hm")), bytes]],
  ])("that comes %s is the same output", async (_name, cut) => {
    daemon.play({ program: output, cut });
    const { execution, stdout, stderr } = await run();
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 3 });
    expect([stdout.toString(), stderr.toString()]).toEqual([expected("o"), expected("e")]);
    await noneLeft();
  });

  test("of a hundred thousand one-byte frames in one chunk is no deeper than any other", async () => {
    daemon.play({
      program: (program) => {
        const frame = Buffer.concat([Buffer.from([0x83, 0, 0, 0, 1]), text("x")]);
        const single = [...frame].map((byte) => daemonFrame(1, Buffer.from([byte])));
        program.raw(Buffer.concat(Array.from({ length: 20_000 }, () => single).flat()));
        program.exit({ code: 0 });
      },
    });
    const { execution, stdout } = await run();
    expect(execution.verdict).toBe(Verdict.EXITED);
    expect(stdout.toString()).toBe("x".repeat(20_000));
  });

  test.each<[fault: string, script: ProgramScript, arrived?: string]>([
    ["an error of the daemon", (program) => program.raw(daemonFrame(3, text("no space left on device")))],
    ["a frame of an unknown type", (program) => program.raw(daemonFrame(9, text("x")))],
    [
      "an end within a frame of the daemon",
      (program) => {
        program.raw(daemonFrame(1, text("cut")).subarray(0, 9));
        program.endStream();
      },
    ],
    [
      "an end within a frame of process 1",
      (program) => {
        program.raw(daemonFrame(1, Buffer.from([0x83, 0, 0, 0, 9, 120])));
        program.endStream();
      },
      "x",
    ],
    ["a frame of four gigabytes of process 1", (program) => program.raw(daemonFrame(1, Buffer.alloc(8, 0xff)))],
    ["an exit that is no report", (program) => program.raw(daemonFrame(1, Buffer.from([0x85, 0, 0, 0, 1, 120])))],
    ["an end before the exit", (program) => program.endStream()],
    ["a broken connection", (program) => program.dropStream()],
    ["the container's own death", (program) => program.die()],
  ])("with %s is a lost run with the output before it, and leaves nothing", async (_name, fault, arrived = "") => {
    daemon.play({
      program: async (program) => {
        program.stdout(text("before"));
        await new Promise((resolve) => setTimeout(resolve, 100));
        await fault(program);
      },
    });
    const { execution, stdout } = await run();
    expect(execution).toMatchObject({ verdict: Verdict.INFRA_LOST, killedBy: "", oomSeen: false, signal: "" });
    expect(execution.exitCode).toBeUndefined();
    expect(stdout.toString()).toBe(`before${arrived}`);
    await noneLeft();
  });

  test("that ends with memory noted by the engine is out of memory, whatever the status code", async () => {
    daemon.play({ program: (program) => program.die(), oomKilled: true });
    expect((await run()).execution).toMatchObject({ verdict: Verdict.OOM, oomSeen: true });
    await noneLeft();
  });

  test.each([
    [
      "an exit of 137 with no memory noted",
      { code: 137 },
      false,
      { verdict: Verdict.EXITED, exitCode: 137, oomSeen: false },
    ],
    ["an exit of 1 with memory noted", { code: 1 }, true, { verdict: Verdict.EXITED, exitCode: 1, oomSeen: true }],
    ["an exit of 0 with a kill counted", { code: 0, oom_kills: 2 }, false, { verdict: Verdict.EXITED, oomSeen: true }],
    ["SIGKILL with memory noted by the engine alone", { signal: 9 }, true, { verdict: Verdict.OOM, oomSeen: true }],
    [
      "SIGKILL with no memory noted",
      { signal: 9 },
      false,
      { verdict: Verdict.SIGNALED, signal: "SIGKILL", oomSeen: false },
    ],
    ["a program that could not be started", { error: "exec format error" }, false, { verdict: Verdict.LAUNCH_FAILED }],
  ])("with %s", async (_name, report, oomKilled, execution) => {
    daemon.play({ program: (program) => program.exit(report), oomKilled });
    expect((await run()).execution).toMatchObject(execution);
    await noneLeft();
  });
});

describe("the end that the service decides", () => {
  const deaf: ProgramScript = (program) => program.stdout(text("up"));

  test("a time limit asks first, then kills the container, and is no other verdict", async () => {
    const asked = Promise.withResolvers<void>();
    daemon.play({ program: (program) => program.signalled(15).then(asked.resolve) });
    const { execution } = await run({ limits: { wallMs: 200 } });
    await asked.promise;
    expect(execution).toMatchObject({ verdict: Verdict.TIMEOUT_WALL, killedBy: "timeout", oomSeen: false });
    await noneLeft();
  });

  test("memory noted after a kill of our own does not make it out of memory", async () => {
    daemon.play({ program: deaf, oomKilled: true });
    expect((await run({ limits: { wallMs: 200 } })).execution.verdict).toBe(Verdict.TIMEOUT_WALL);
  });

  test.each<[string, Answer]>([
    ["already exited (409)", { status: 409, message: "is not running", done: true }],
    ["already gone (404)", { status: 404, message: "No such container", done: true }],
    ["without an answer", "lose-answer"],
    ["refused (500)", { status: 500, message: "cannot kill" }],
  ])("a kill of a container that is %s ends the run all the same", async (_name, give) => {
    daemon.play({ program: deaf, answer: on("POST /containers/:id/kill", give) });
    const { execution, stdout } = await run({ limits: { wallMs: 200 } });
    expect(execution).toMatchObject({ verdict: Verdict.TIMEOUT_WALL, killedBy: "timeout" });
    expect(stdout.toString()).toBe("up");
    await noneLeft();
  });

  test("a cancel kills the container and leaves none", async () => {
    daemon.play({ program: deaf });
    const cancel = new AbortController();
    const callId = newId();
    const onEvent = (kind: string) => kind === "data" && cancel.abort();
    await expect(run({ callId, signal: cancel.signal, onEvent })).rejects.toMatchObject({ code: "CANCELLED" });
    await noneLeft();
    expect(daemon.steps()).toContain("POST /containers/:id/kill");
  });
});

describe("removal", () => {
  test.each<[string, Answer, number]>([
    ["is gone already (404)", { status: 404, message: "No such container", done: true }, 1],
    ["is being removed by somebody else (409)", { status: 409, message: "removal is already in progress" }, 3],
    ["is refused at first (500)", { status: 500, message: "device or resource busy" }, 2],
    ["loses its answer", "lose-answer", 1],
    ["breaks at first", "drop", 1],
  ])("that %s is tried until it is proven", async (_name, give, times) => {
    daemon.play({ answer: on("DELETE /containers/:id", give, times) });
    expect((await run()).execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0 });
    await noneLeft();
  });
});

describe("a start that fails", () => {
  const refused = (status: number, message: string): Answer => ({ status, message });

  test.each<[string, string, Answer, Verdict]>([
    [
      "the entry point is missing",
      ":id/start",
      refused(400, 'exec: "/x": no such file or directory'),
      Verdict.LAUNCH_FAILED,
    ],
    ["it may not be executed", ":id/start", refused(400, "exec: permission denied"), Verdict.LAUNCH_FAILED],
    ["the runtime is unknown", "create", refused(400, "unknown or invalid runtime name: x"), Verdict.LAUNCH_FAILED],
    ["the image went away after the check", "create", refused(404, "No such image"), Verdict.LAUNCH_FAILED],
    ["the disk is full", "create", refused(500, "no space left on device"), Verdict.INFRA_LOST],
    ["no cgroup can be made", ":id/start", refused(500, "cannot create cgroup"), Verdict.INFRA_LOST],
    ["attaching is refused", ":id/attach", refused(500, "cannot attach"), Verdict.INFRA_LOST],
    ["attaching breaks", ":id/attach", "drop", Verdict.INFRA_LOST],
    ["creating breaks", "create", "drop", Verdict.INFRA_LOST],
    ["creating loses its answer", "create", "lose-answer", Verdict.INFRA_LOST],
    ["starting loses its answer", ":id/start", "lose-answer", Verdict.INFRA_LOST],
    ["creating hangs", "create", "hang", Verdict.INFRA_LOST],
    ["starting hangs", ":id/start", "hang", Verdict.INFRA_LOST],
    ["creating is late for its time", "create", { lateMs: 2500 }, Verdict.INFRA_LOST],
  ])("because %s leaves no container", async (_name, step, give, verdict) => {
    daemon.play({ answer: on(`POST /containers/${step}`, give) });
    const { execution } = await run();
    expect(execution).toMatchObject({ verdict, killedBy: "", oomSeen: false });
    expect(execution.exitCode).toBeUndefined();
    expect(execution.message).not.toBe("");
    await noneLeft();
    daemon.play({});
    expect((await run()).execution.verdict).toBe(Verdict.EXITED);
  });

  test("a daemon that is slow, but within its time, is no fault", async () => {
    daemon.play({ answer: () => ({ lateMs: 50 }) });
    expect((await run()).execution.verdict).toBe(Verdict.EXITED);
    await noneLeft();
  });

  test("an engine that hangs over a kill holds up no run: it ends with what is known", async () => {
    const program: ProgramScript = (running) => running.stdout(text("up"));
    daemon.play({ program, answer: on("POST /containers/:id/kill", "hang") });
    const { execution, stdout } = await run({ limits: { wallMs: 200 } });
    expect(execution).toMatchObject({ verdict: Verdict.TIMEOUT_WALL, killedBy: "timeout" });
    expect(stdout.toString()).toBe("up");
    await noneLeft();
  });

  test("a wait that breaks after the start is no fault either", async () => {
    daemon.play({ answer: on("POST /containers/:id/wait", "drop") });
    expect((await run()).execution.verdict).toBe(Verdict.EXITED);
    await noneLeft();
  });
});

test("all connections that break at once, again and again, are lost runs and a service that goes on", async () => {
  daemon.play({ program: (program) => program.stdout(text("up")) });
  const runs = Array.from({ length: 4 }, () => run());
  await vi.waitFor(() => expect(daemon.steps().filter((step) => step.endsWith("/start"))).toHaveLength(4), waits);
  const timer = setInterval(() => daemon.dropAll(), 200);
  const ends = await Promise.all(runs).finally(() => clearInterval(timer));
  expect(ends.map(({ execution }) => execution.verdict)).toEqual(Array(4).fill(Verdict.INFRA_LOST));
  await noneLeft();
  daemon.play({});
  expect((await run()).execution.verdict).toBe(Verdict.EXITED);
});

test("a clock that jumps by an hour, forth and back, ends no run before its time or after it", async () => {
  daemon.play({
    program: async (program) => {
      for (const hours of [1, -1]) {
        vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + hours * 3_600_000 });
        // Longer than a round of the reaper.
        await new Promise((resolve) => setTimeout(resolve, 1200));
        vi.useRealTimers();
      }
      program.exit({ code: 0, wall_us: 2_400_000 });
    },
  });
  const { execution } = await run().finally(() => vi.useRealTimers());
  expect(execution).toMatchObject({ verdict: Verdict.EXITED, killedBy: "" });
  daemon.play({
    program: async (program) => {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() - 3_600_000 });
      await program.signalled(15);
    },
  });
  const late = await run({ limits: { wallMs: 300 } }).finally(() => vi.useRealTimers());
  expect(late.execution).toMatchObject({ verdict: Verdict.TIMEOUT_WALL, killedBy: "timeout" });
  await noneLeft();
});

test("what is past its expiry is removed; containers of strangers and of living neighbours are never touched", async () => {
  daemon.play({});
  const neighbour = { "drover.service": "sandbox", "drover.owner": "other/1", "drover.run": newId() };
  const left = {
    [`f${"a".repeat(63)}`]: {},
    [`f${"b".repeat(63)}`]: { "drover.service": "web", "drover.expires": "1" },
    [`f${"c".repeat(63)}`]: { ...neighbour, "drover.expires": String(Date.now() + 3_600_000) },
  };
  const stray = { [`f${"d".repeat(63)}`]: { ...neighbour, "drover.expires": "1" } };
  for (const [id, labels] of Object.entries({ ...left, ...stray })) {
    daemon.containers.set(id, { labels, state: "running", exited: Promise.withResolvers() });
  }
  await vi.waitFor(() => expect([...daemon.containers.keys()]).toEqual(Object.keys(left)), waits);
  await run();
  expect([...daemon.containers.keys()]).toEqual(Object.keys(left));
  daemon.containers.clear();
});

function pieces(bytes: Buffer, size: number): Buffer[] {
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) => bytes.subarray(i * size, (i + 1) * size));
}
