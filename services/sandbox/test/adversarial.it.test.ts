import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest();
});
afterAll(async () => {
  expect(await sandbox.containers()).toEqual([]);
  expect((await sandbox.run("bash", "echo still fine")).stdout.toString()).toBe("still fine\n");
  await sandbox[Symbol.asyncDispose]();
});

const bash = (code: string, options = {}) => sandbox.run("bash", code, options);
const python = (code: string, options = {}) => sandbox.run("python", code, options);

describe("ends", () => {
  test.each([137, 124, 255])("exit %d is an exit, not a signal, time-out or memory", async (code) => {
    const { execution } = await bash(`exit ${code}`);
    expect(execution).toMatchObject({
      message: `The program exited with ${code}.`,
      verdict: Verdict.EXITED,
      exitCode: code,
      signal: "",
      oomSeen: false,
    });
  });

  test.each(["SEGV", "ABRT", "KILL"])("a program that raises SIG%s was signalled", async (name) => {
    const { execution } = await bash(`kill -${name} $$`);
    expect(execution).toMatchObject({ verdict: Verdict.SIGNALED, signal: `SIG${name}`, killedBy: "" });
    expect(execution.exitCode).toBeUndefined();
  });

  test("SIGTERM is ignored: killed after its time, with the output it made", async () => {
    const { execution, stdout } = await bash("trap '' TERM INT HUP; echo up; while :; do sleep 1; done", {
      limits: { wallMs: 700 },
    });
    expect(execution).toMatchObject({ verdict: Verdict.TIMEOUT_WALL, killedBy: "timeout", oomSeen: false });
    expect(stdout.toString()).toBe("up\n");
  });

  test("a last word on SIGTERM is kept, and the end is a time-out all the same", async () => {
    const { execution, stdout } = await bash("trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done", {
      limits: { wallMs: 500 },
    });
    expect(execution.verdict).toBe(Verdict.TIMEOUT_WALL);
    expect(stdout.toString()).toBe("bye\n");
  });

  test("a daemon in a session of its own that holds the pipe neither delays nor survives the end", async () => {
    // The daemon would last longer than the test may take.
    const { execution, stdout } = await bash("setsid sh -c 'sleep 600; echo late' & disown; echo now");
    expect(stdout.toString()).toBe("now\n");
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0 });
  });

  test("closing both streams is not the end", async () => {
    const { execution, stdout } = await bash("exec 1>&- 2>&-; sleep 1; exit 5");
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 5 });
    expect(stdout.length).toBe(0);
  });

  test("thousands of children are reaped", async () => {
    const { execution, stdout } = await bash("for i in $(seq 300); do (:) & done; wait; echo done; exit 0");
    expect(execution.verdict).toBe(Verdict.EXITED);
    expect(stdout.toString()).toBe("done\n");
  });
});

describe("resources", () => {
  test("a fork bomb stays within its pids and ends in time", async () => {
    const { execution } = await bash("b() { b | b & }; b; sleep 2", { limits: { wallMs: 1500 } });
    expect([Verdict.TIMEOUT_WALL, Verdict.EXITED]).toContain(execution.verdict);
  });

  test("a program that allocates until it is killed ran out of memory", async () => {
    const code = "b = []\nwhile True: b.append(bytearray(8 << 20))";
    const { execution } = await python(code, { limits: { memoryBytes: 96 << 20 } });
    expect(execution).toMatchObject({ verdict: Verdict.OOM, oomSeen: true, killedBy: "" });
  });

  test("a child killed for memory under a parent that exits 0 is an exit with oom_seen", async () => {
    const { execution, stdout } = await bash(
      "(head -c 300M /dev/zero | tail -c 299M >/dev/null); echo parent; exit 0",
      {
        limits: { memoryBytes: 64 << 20 },
      },
    );
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0, oomSeen: true });
    expect(stdout.toString()).toBe("parent\n");
  });

  test("filling /tmp and making endless files is an error of the program alone", async () => {
    const { execution, stdout } = await bash(
      "head -c 300M /dev/zero >/tmp/f 2>/dev/null || echo full; rm -f /tmp/f; mkdir /tmp/d; cd /tmp/d; seq 20000 | xargs touch 2>/dev/null || echo inodes",
    );
    expect(execution.verdict).toBe(Verdict.EXITED);
    expect(stdout.toString()).toBe("full\ninodes\n");
  });

  test("open files end at 256 in the program only", async () => {
    const { stdout } = await python(
      "fs=[]\ntry:\n  while True: fs.append(open('/dev/null'))\nexcept OSError as e: print(e.errno, len(fs) < 256)",
    );
    expect(stdout.toString()).toBe("24 True\n");
  });

  test("use is measured", async () => {
    const { execution } = await python("x = bytearray(50 << 20)\nsum(range(3000000))");
    expect(Number(execution.peakMemoryBytes)).toBeGreaterThan(50 << 20);
    expect(execution.cpuTime?.nanos).toBeGreaterThan(10_000_000);
  });
});

describe("output", () => {
  test("endless output on both streams is cut in the middle, counted, and never blocks the end", async () => {
    const { execution, stdout, stderr } = await bash("yes out & yes err >&2 & sleep 1; kill %1 %2; exit 4");
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 4 });
    for (const [seen, streamed, word] of [
      [execution.stdout, stdout, "out\n"],
      [execution.stderr, stderr, "err\n"],
    ] as const) {
      expect(Number(seen?.bytesSeen)).toBeGreaterThan(1_000_000);
      expect(streamed.length).toBe(102_400);
      expect(seen?.bytesKept).toBe(102_400n);
      expect(seen?.bytesDropped).toBe((seen?.bytesSeen ?? 0n) - 102_400n);
      expect(Buffer.from(seen?.head ?? []).toString()).toBe(word.repeat(12_800));
    }
  });

  test("a program that writes without end is ended at the hard limit", async () => {
    await using small = await startUnderTest({ DROVER_SANDBOX_HARD_OUTPUT: "2MiB" });
    const { execution } = await small.run("bash", "yes");
    expect(execution).toMatchObject({ verdict: Verdict.OUTPUT_LIMIT, killedBy: "output" });
  });

  test.each([-1, 0, 1])("%d bytes around the cap", async (more) => {
    const { execution, stdout } = await bash(`head -c ${1000 + more} /dev/zero | tr '\\0' x`, {
      limits: { outputBytes: 1000 },
    });
    expect(execution.stdout).toMatchObject({ bytesSeen: BigInt(1000 + more), bytesDropped: BigInt(Math.max(more, 0)) });
    expect(stdout.length).toBe(Math.min(1000 + more, 1000));
  });

  test("a hundred thousand writes of one byte, alternating, all arrive in their order", async () => {
    const code =
      "import os\nfor i in range(50000):\n  os.write(1, b'%d' % (i % 10)); os.write(2, b'%d' % (9 - i % 10))";
    const { stdout, stderr } = await python(code);
    expect(stdout.equals(Buffer.from("0123456789".repeat(5000)))).toBe(true);
    expect(stderr.equals(Buffer.from("9876543210".repeat(5000)))).toBe(true);
  });

  test.each([
    ["no newline at the end", "printf x", "x"],
    ["a newline alone", "echo", "\n"],
    ["nothing", ":", ""],
    ["carriage returns, colours and a bell", "printf 'a\\r\\nb\\rc\\033[31m\\a'", "a\r\nb\rc\u001b[31m\u0007"],
  ])("%s is kept exactly", async (_name, code, expected) => {
    expect((await bash(code)).stdout.toString("latin1")).toBe(expected);
  });

  test("bytes that are not UTF-8 stay what they are", async () => {
    const { stdout } = await bash("printf 'a\\377\\300\\257\\0\\360\\237\\230'");
    expect(stdout.toString("hex")).toBe("61ffc0af00f09f98");
  });

  test("frames and exits that a program prints are output", async () => {
    const { execution, stdout } = await bash(`printf '\\205\\0\\0\\0\\013{"code":99}'; exit 2`);
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 2 });
    expect(stdout.subarray(5).toString()).toBe('{"code":99}');
  });
});

describe("input", () => {
  test("is at its end at once where none is given", async () => {
    expect((await bash("cat; echo eof")).stdout.toString()).toBe("eof\n");
  });

  test("of megabytes may stay unread", async () => {
    const { execution } = await bash("exit 0", { stdin: Buffer.alloc(3 << 20) });
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0 });
  });

  test("of megabytes arrives whole, without a newline at its end", async () => {
    const { stdout } = await bash("wc -c; exit 0", { stdin: Buffer.alloc(3_000_001, "x") });
    expect(stdout.toString().trim()).toBe("3000001");
  });
});
