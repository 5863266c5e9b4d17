import { newId } from "@drover/kernel";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CollectedChange, Container, ContainerRequest, ExecBackend } from "../src/application/ports.ts";

/** A backend under test, and what differs around it. */
export interface BackendUnderTest extends AsyncDisposable {
  readonly backend: ExecBackend;
  /** An image with bash, and one that is nowhere; a backend without images has no missing one. */
  readonly image: string;
  readonly missingImage?: string;
}

const limits = {
  wallMs: 30_000,
  memoryBytes: 256 << 20,
  cpuMillis: 1000,
  processes: 64,
  outputBytes: 102_400,
  compileMs: 30_000,
  cpuTimeMs: 600_000,
};
const environment = { PATH: "/usr/local/bin:/usr/bin:/bin" };
const signal = () => AbortSignal.timeout(30_000);

interface ShellOptions {
  readonly stdin?: string;
  readonly environment?: Record<string, string>;
  readonly onOutput?: () => unknown;
}

async function shell(container: Container, command: string, options: ShellOptions = {}) {
  const output = { stdout: "", stderr: "" };
  const report = await container.run({
    argv: ["/bin/bash", "-c", command],
    environment: { ...environment, ...options.environment },
    stdin: Buffer.from(options.stdin ?? ""),
    onStarted: () => undefined,
    onOutput: (stream, bytes) => {
      output[stream] += Buffer.from(bytes).toString("latin1");
      options.onOutput?.();
    },
  });
  return { ...output, report };
}

function file(path: string, text: string, more: { executable?: boolean; ephemeral?: boolean } = {}) {
  return { path, content: Buffer.from(text), executable: false, ephemeral: false, ...more };
}

async function changesOf(container: Container, most = { maxFiles: 10, maxBytes: 1000 }): Promise<string[]> {
  const seen: string[] = [];
  const onChange = async (change: CollectedChange) => {
    const detail = change.kind === "put" ? Buffer.from(change.content).toString() : "";
    seen.push(`${change.kind} ${change.path} ${change.kind === "skip" ? change.reason : detail}`.trim());
  };
  await container.collect(most, onChange);
  return seen.sort();
}

/** What every backend must do; a capability it does not declare is the only way out. */
export function execBackendContract(name: string, open: () => Promise<BackendUnderTest>): void {
  describe(`the contract of an exec backend: ${name}`, () => {
    let under: BackendUnderTest;
    beforeAll(async () => {
      under = await open();
    });
    afterAll(async () => {
      await under[Symbol.asyncDispose]();
    });

    const request = (more: Partial<ContainerRequest> = {}): ContainerRequest => ({
      runId: newId(),
      taskId: "task-1",
      tenant: "t-1",
      image: under.image,
      limits,
      lifetimeMs: 60_000,
      ...more,
    });
    const started = (more: Partial<ContainerRequest> = {}) => under.backend.start(request(more), signal());
    const ids = async () => (await under.backend.found(signal())).map(({ id }) => id);

    test("it is healthy and finds the image", async () => {
      expect(await under.backend.health(signal())).toMatchObject({ ready: true, problem: "", advice: "" });
      await under.backend.check(under.image, signal());
    });

    test("a program gets its files, arguments, input and exactly the named environment", async () => {
      await using container = await started();
      await container.putFile(file("dir/a.txt", "inside\n"));
      await container.putFile(file("tool.sh", "#!/bin/bash\necho tool $1", { executable: true }));
      const seen = await shell(container, 'cat dir/a.txt; ./tool.sh "a  b"; cat; env | grep -c KEY; echo "$KEY" >&2', {
        stdin: "no newline",
        environment: { KEY: "v $x ;" },
      });
      expect(seen).toMatchObject({ stdout: "inside\ntool a b\nno newline1\n", stderr: "v $x ;\n" });
      expect(seen.report).toMatchObject({ exit: { code: 0 }, oomKills: 0 });
      expect(seen.report.wallMs).toBeGreaterThan(0);
      const names = await shell(container, "env -i; env | cut -d= -f1 | sort | tr '\\n' ' '");
      expect(names.stdout.replaceAll(/\b(?:_|PWD|SHLVL|OLDPWD) /g, "")).toBe("PATH ");
    });

    test("exit codes, signals and programs that cannot start are told apart", async () => {
      await using container = await started();
      expect((await shell(container, "exit 137")).report).toMatchObject({ exit: { code: 137 } });
      expect((await shell(container, "kill -SEGV $$")).report).toMatchObject({ exit: { signal: 11 } });
      const missing = await container.run({
        argv: ["/no/such/program"],
        environment,
        stdin: Buffer.alloc(0),
        onStarted: () => undefined,
        onOutput: () => undefined,
      });
      expect(missing.exit).toBeUndefined();
      expect(missing.launchError).toBeTruthy();
    });

    test("output is exact: every byte value, both streams, more than any buffer, no newline at the end", async () => {
      await using container = await started();
      const bytes = 'for i in $(seq 0 255); do printf "\\\\x$(printf %02x $i)"; done; printf err >&2';
      const seen = await shell(container, bytes);
      expect(seen.stderr).toBe("err");
      expect(Buffer.from(seen.stdout, "latin1")).toEqual(Buffer.from(Array.from({ length: 256 }, (_, i) => i)));
      let count = 0;
      const large = await container.run({
        argv: ["/bin/bash", "-c", "head -c 3000000 /dev/zero; head -c 200000 /dev/zero >&2"],
        environment,
        stdin: Buffer.alloc(0),
        onStarted: () => undefined,
        onOutput: (_stream, piece) => {
          count += piece.length;
        },
      });
      expect(large.exit).toEqual({ code: 0 });
      expect(count).toBe(3_200_000);
    });

    test("input that nobody reads holds nothing up, and none at all is its end", async () => {
      await using container = await started();
      expect((await shell(container, "exit 3", { stdin: "x".repeat(3_000_000) })).report.exit).toEqual({ code: 3 });
      expect((await shell(container, "cat; echo end")).stdout).toBe("end\n");
    });

    test("terminate asks, kill ends for good, and killing again is no error", async () => {
      await using container = await started();
      let asks = 0;
      const asked = shell(container, "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done", {
        onOutput: () => asks++ === 0 && container.terminate(),
      });
      expect(await asked).toMatchObject({ stdout: "up\nbye\n", report: { exit: { code: 0 } } });
      const up = Promise.withResolvers<void>();
      const deaf = shell(container, "trap '' TERM; echo up; while :; do sleep 0.1; done", { onOutput: up.resolve });
      const lost = expect(deaf).rejects.toMatchObject({ code: "UNAVAILABLE", reason: "CONTAINER_LOST" });
      await up.promise;
      await container.kill();
      await container.kill();
      await lost;
      await expect(shell(container, "true")).rejects.toMatchObject({ reason: "CONTAINER_LOST" });
    });

    test("a program's end is the end of all it left behind", async () => {
      await using container = await started();
      const left =
        "(trap '' TERM HUP; setsid bash -c 'sleep 1; echo late >>/tmp/late; echo late >late' & disown); echo done";
      expect(await shell(container, left)).toMatchObject({ stdout: "done\n", report: { exit: { code: 0 } } });
      expect(
        (await shell(container, "sleep 1.5; cat late /tmp/late 2>/dev/null; rm -f /tmp/late; echo looked")).stdout,
      ).toBe("looked\n");
    });

    test("changes are files only, within their limits, and told once", async () => {
      await using container = await started();
      await container.putFile(file("same", "same"));
      await container.putFile(file("edit", "old"));
      await container.putFile(file("gone", "x"));
      await container.putFile(file("main.sh", "code", { ephemeral: true }));
      const code =
        "echo new >edit; rm gone; mkdir d; echo hi >d/added; ln -s /etc/passwd link; mkfifo pipe; echo z >main.sh; head -c 5000 /dev/zero >big";
      await shell(container, code);
      expect(await changesOf(container)).toEqual([
        "delete gone",
        "put d/added hi",
        "put edit new",
        "skip big OVER_BYTE_LIMIT",
        "skip link SYMLINK",
        "skip pipe NOT_A_REGULAR_FILE",
      ]);
      expect((await changesOf(container)).filter((change) => !change.startsWith("skip"))).toEqual([]);
    });

    test("what a program prints shows the root of its files and no other place", async () => {
      await using container = await started();
      await container.putFile(file("a.txt", "x"));
      const { stdout } = await shell(container, "pwd; printf '%s' \"$PWD/a.txt\"");
      expect(stdout).toBe("/workspace\n/workspace/a.txt");
    });

    test("containers are found by their run, owner and expiry, and disposing removes and proves it", async () => {
      const before = Date.now();
      const runId = newId();
      const container = await started({ runId });
      const found = (await under.backend.found(signal())).find(({ id }) => id === container.id);
      expect(found).toMatchObject({ runId });
      expect(found?.owner).not.toBe("");
      expect(found?.expiresAt.getTime()).toBeGreaterThan(before + 59_000);
      expect(found?.expiresAt.getTime()).toBeLessThan(Date.now() + 61_000);
      await container[Symbol.asyncDispose]();
      expect(await ids()).not.toContain(container.id);
      await container[Symbol.asyncDispose]();
    });

    test("removing ends what runs there; removing again, or what never was, is no error", async () => {
      const container = await started();
      const running = expect(shell(container, "sleep 60")).rejects.toMatchObject({ reason: "CONTAINER_LOST" });
      await under.backend.remove(container.id);
      await running;
      await under.backend.remove(container.id);
      expect(await ids()).not.toContain(container.id);
      await container[Symbol.asyncDispose]();
    });

    test("an aborted start leaves nothing behind", async () => {
      const runId = newId();
      await expect(under.backend.start(request({ runId }), AbortSignal.abort())).rejects.toBeDefined();
      const early = new AbortController();
      const starting = under.backend.start(request({ runId }), early.signal);
      setTimeout(() => early.abort(), 5);
      await starting.then(
        (container) => container[Symbol.asyncDispose](),
        () => undefined,
      );
      expect((await under.backend.found(signal())).filter((one) => one.runId === runId)).toEqual([]);
    });

    test("a missing image is a precondition that leaves nothing behind", async () => {
      const { missingImage } = under;
      if (missingImage === undefined) return;
      const runId = newId();
      const failed = { code: "FAILED_PRECONDITION", reason: "IMAGE_MISSING" };
      await expect(started({ runId, image: missingImage })).rejects.toMatchObject(failed);
      expect((await under.backend.found(signal())).filter((one) => one.runId === runId)).toEqual([]);
    });

    test("containers at once do not see each other", async () => {
      const texts = await Promise.all(
        ["one", "two", "three"].map(async (text) => {
          await using container = await started();
          await container.putFile(file("mine", text));
          return (await shell(container, "sleep 0.2; cat *")).stdout;
        }),
      );
      expect(texts).toEqual(["one", "two", "three"]);
    });

    test("memory, where it is limited, ends the program and is seen", async () => {
      if (!under.backend.capabilities.has("memory-limit")) return;
      await using container = await started({ limits: { ...limits, memoryBytes: 128 << 20 } });
      const seen = await shell(container, "head -c 300m /dev/zero | tail").catch(() => undefined);
      const counted = seen !== undefined && seen.report.oomKills > 0;
      expect(counted || (await container.sawOutOfMemory())).toBe(true);
    });

    test("processes, where they are limited, run out", async () => {
      if (!under.backend.capabilities.has("process-limit")) return;
      await using container = await started();
      const forks =
        "perl -e 'my $n = 0; for (1..200) { my $p = fork; last unless defined $p; if (!$p) { sleep 30; exit } $n++ } print $n'";
      const { stdout } = await shell(container, forks);
      expect(Number(stdout)).toBeGreaterThan(10);
      expect(Number(stdout)).toBeLessThan(limits.processes);
    });

    test("the network, where it is off, is the loopback", async () => {
      if (!under.backend.capabilities.has("network-off")) return;
      await using container = await started();
      const code =
        'for a in 1.1.1.1/53 169.254.169.254/80 172.17.0.1/2375; do timeout 2 bash -c "exec 3<>/dev/tcp/$a" 2>/dev/null && echo $a; done; echo end';
      expect((await shell(container, code)).stdout).toBe("end\n");
    });

    test("files of others, where they are apart, are neither there nor writable", async () => {
      if (!under.backend.capabilities.has("file-isolation")) return;
      await using container = await started();
      const code =
        "for p in / /etc /usr /root /sys; do (touch $p/probe) 2>/dev/null && echo wrote $p; done; ls /var/run/docker.sock 2>/dev/null; echo end";
      expect((await shell(container, code)).stdout).toBe("end\n");
    });
  });
}
