import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { expect } from "vitest";
import type { RunSeen } from "../sandbox-under-test.ts";
import type { Program } from "./program.ts";

const cap = 102_400;
const everyByte = Buffer.from(Array.from({ length: 256 }, (_, i) => i));

function cutInTheMiddle(which: "stdout" | "stderr", word: string) {
  return ({ execution, [which]: streamed }: RunSeen) => {
    const facts = execution[which];
    expect(Number(facts?.bytesSeen)).toBeGreaterThan(1_000_000);
    expect(streamed.length).toBe(cap);
    expect(facts?.bytesKept).toBe(BigInt(cap));
    expect(facts?.bytesDropped).toBe((facts?.bytesSeen ?? 0n) - BigInt(cap));
    expect(Buffer.from(facts?.head ?? []).toString()).toBe(word.repeat(cap / 2 / word.length));
  };
}

const aroundTheCap: Program[] = [-1, 0, 1].map((more) => ({
  name: `${more} bytes around the cap`,
  language: "bash",
  code: `head -c ${1000 + more} /dev/zero | tr '\\0' x`,
  options: { limits: { outputBytes: 1000 } },
  stdout: "x".repeat(Math.min(1000 + more, 1000)),
  check: ({ execution }) =>
    expect(execution.stdout).toMatchObject({
      bytesSeen: BigInt(1000 + more),
      bytesDropped: BigInt(Math.max(more, 0)),
    }),
}));

const exact: Program[] = (
  [
    ["no newline at the end", "printf x", "x"],
    ["a newline alone", "echo", "\n"],
    ["nothing", ":", ""],
    ["a progress bar of carriage returns", "printf '10%%\\r20%%\\r\\n'", "10%\r20%\r\n"],
    ["colours, a bell and a new window title", "printf '\\033[31m\\a\\033]0;t\\a'", "\u001b[31m\u0007\u001b]0;t\u0007"],
    ["two lines of CRLF", "printf 'a\\r\\nb\\r\\n'", "a\r\nb\r\n"],
  ] as const
).map(([name, code, stdout]) => ({ name: `${name} is kept exactly`, language: "bash", code, stdout }));

const endless: Program[] = (
  [
    ["stdout", "yes out", "out\n"],
    ["stderr", "yes err >&2", "err\n"],
  ] as const
).map(([stream, code, word]) => ({
  name: `${stream} without end is cut in the middle and counted until the time is over`,
  language: "bash",
  code,
  options: { limits: { wallMs: 1000 } },
  execution: { verdict: Verdict.TIMEOUT_WALL, killedBy: "timeout" },
  check: cutInTheMiddle(stream, word),
}));

/** Programs whose output is hard to keep exact. */
export const outputs: readonly Program[] = [
  ...endless,
  {
    name: "both streams without end do not block each other or the end",
    language: "bash",
    code: "yes out & yes err >&2 & sleep 1; kill %1 %2; exit 4",
    execution: { verdict: Verdict.EXITED, exitCode: 4 },
    check: (seen) => {
      cutInTheMiddle("stdout", "out\n")(seen);
      cutInTheMiddle("stderr", "err\n")(seen);
    },
  },
  {
    name: "a quarter of a gigabyte in one line without a newline is counted to the byte",
    language: "bash",
    code: "head -c 256M /dev/zero",
    options: { limits: { wallMs: 50_000, memoryBytes: 64 << 20 } },
    check: ({ execution, stdout }) => {
      expect(execution.stdout).toMatchObject({ bytesSeen: 1n << 28n, bytesDropped: (1n << 28n) - BigInt(cap) });
      expect(stdout.equals(Buffer.alloc(cap))).toBe(true);
    },
    gvisor: {
      why: "a byte of output takes some ten times as long there; the count is the same for a quarter of them",
      code: "head -c 64M /dev/zero",
      check: ({ execution }) =>
        expect(execution.stdout).toMatchObject({ bytesSeen: 1n << 26n, bytesDropped: (1n << 26n) - BigInt(cap) }),
    },
  },
  ...aroundTheCap,
  {
    name: "a hundred thousand writes of one byte, alternating, all arrive in their order",
    language: "python",
    code: "import os\nfor i in range(50000):\n  os.write(1, b'%d' % (i % 10)); os.write(2, b'%d' % (9 - i % 10))",
    stdout: "0123456789".repeat(5000),
    stderr: "9876543210".repeat(5000),
  },
  ...exact,
  {
    name: "all 256 values of a byte, NUL among them, are kept exactly",
    language: "python",
    code: "import os; os.write(1, bytes(range(256)) * 4); os.write(2, bytes(reversed(range(256))))",
    stdout: Buffer.concat([everyByte, everyByte, everyByte, everyByte]),
    stderr: Buffer.from(everyByte).reverse(),
  },
  {
    name: "a character of four bytes, written byte by byte with pauses, is whole",
    language: "python",
    code: "import os, time\nfor b in '😀é'.encode(): os.write(1, bytes([b])); time.sleep(0.05)",
    stdout: "😀é",
    check: ({ execution }) => expect(Buffer.from(execution.stdout?.head ?? []).toString()).toBe("😀é"),
  },
  {
    name: "lone, overlong and unfinished sequences stay the bytes they are",
    language: "bash",
    code: "printf 'a\\377\\300\\257\\0\\360\\237\\230'",
    stdout: Buffer.from("61ffc0af00f09f98", "hex"),
  },
  {
    name: "a hundred thousand characters of three bytes arrive without a broken one",
    language: "python",
    code: "import sys; sys.stdout.write('語' * 100000)",
    options: { limits: { outputBytes: 400_000 } },
    stdout: "語".repeat(100_000),
  },
  {
    name: "frames, results and exits that a program prints are output",
    language: "bash",
    code: `printf '\\205\\0\\0\\0\\013{"code":99}\\1\\0\\0\\0\\0\\0\\0\\1x{"exit_code":0}\\nexit code 0\\n'; exit 2`,
    execution: { verdict: Verdict.EXITED, exitCode: 2 },
    stdout: Buffer.from(
      '\u0085\0\0\0\u000b{"code":99}\u0001\0\0\0\0\0\0\u0001x{"exit_code":0}\nexit code 0\n',
      "latin1",
    ),
  },
];

/** Programs for a service that ends what writes more than 2 MiB. */
export const outputLimits: readonly Program[] = (
  [
    ["yes", "stdout"],
    ["yes >&2", "stderr"],
    ["tr '\\0' x </dev/zero", "stdout"],
  ] as const
).map(([code, stream]) => ({
  name: `${code} is ended at the hard limit`,
  language: "bash",
  code,
  execution: { verdict: Verdict.OUTPUT_LIMIT, killedBy: "output", oomSeen: false },
  check: ({ execution, [stream]: streamed }) => {
    expect(Number(execution[stream]?.bytesSeen)).toBeGreaterThan(2 << 20);
    expect(streamed.length).toBe(cap);
  },
}));
