import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { expect } from "vitest";
import type { Program } from "./program.ts";

/** Programs that take all they can get. */
export const resources: readonly Program[] = [
  {
    name: "a fork bomb stays within its processes and is ended",
    language: "bash",
    code: "b() { b | b & }; b; sleep 2",
    options: { limits: { wallMs: 1500 } },
    execution: {},
    check: ({ execution }) => expect([Verdict.TIMEOUT_WALL, Verdict.EXITED]).toContain(execution.verdict),
    gvisor: {
      why: "gVisor's kernel needs threads for every process; where the engine gives it no more, it dies with its container",
      check: ({ execution }) =>
        expect([Verdict.TIMEOUT_WALL, Verdict.EXITED, Verdict.OOM, Verdict.INFRA_LOST]).toContain(execution.verdict),
    },
  },
  {
    name: "a thread bomb ends with the runtime's own words",
    language: "python",
    code: "import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(600,), daemon=True).start()",
    execution: { verdict: Verdict.EXITED, exitCode: 1, oomSeen: false },
    check: ({ stderr }) => expect(stderr.toString()).toContain("can't start new thread"),
  },
  {
    name: "a program that allocates until it is killed ran out of memory",
    language: "python",
    code: "b = []\nwhile True: b.append(bytearray(8 << 20))",
    options: { limits: { memoryBytes: 96 << 20 } },
    execution: { verdict: Verdict.OOM, oomSeen: true, killedBy: "", signal: "SIGKILL" },
    gvisor: {
      why: "all of gVisor is one process of the host's kernel, which ends it as a whole",
      execution: { verdict: Verdict.OOM, oomSeen: true, killedBy: "", signal: "" },
    },
  },
  {
    name: "a child killed for memory under a parent that exits 0 is an exit with oom_seen",
    language: "bash",
    code: "(head -c 300M /dev/zero | tail -c 299M >/dev/null); echo parent; exit 0",
    options: { limits: { memoryBytes: 64 << 20 } },
    execution: { verdict: Verdict.EXITED, exitCode: 0, oomSeen: true },
    stdout: "parent\n",
    gvisor: {
      why: "all of gVisor is one process of the host's kernel: where a child takes too much, its parent ends as well",
      execution: { verdict: Verdict.OOM, oomSeen: true, killedBy: "", signal: "" },
      stdout: "",
    },
  },
  {
    name: "filling /tmp, /workspace and /dev/shm, and files without end, are errors of the program alone",
    language: "bash",
    code: `
for p in /tmp /workspace /dev/shm; do
  head -c 300M /dev/zero >$p/f 2>/dev/null || echo "$p is full"
  rm -f $p/f
done
mkdir /tmp/d; cd /tmp/d; seq 20000 | xargs touch 2>/dev/null || echo inodes`,
    stdout: "/tmp is full\n/workspace is full\n/dev/shm is full\ninodes\n",
    gvisor: {
      why: "tmpfs of gVisor takes nr_inodes and does not keep it; files count as memory all the same",
      stdout: "/tmp is full\n/workspace is full\n/dev/shm is full\n",
    },
  },
  {
    name: "open files end at 256 in the program only",
    language: "python",
    code: "fs=[]\ntry:\n  while True: fs.append(open('/dev/null'))\nexcept OSError as e: print(e.errno, len(fs) < 256)",
    stdout: "24 True\n",
  },
  {
    name: "sockets are open files too, and those left open are closed by the end",
    language: "python",
    code: `
import socket
kept = []
try:
    while True: kept.append(socket.socketpair())
except OSError as e: print(e.errno, len(kept) > 60)`,
    stdout: "24 True\n",
  },
  {
    name: "use is measured",
    language: "python",
    code: "x = bytearray(50 << 20)\nsum(range(3000000))",
    check: ({ execution }) => {
      expect(Number(execution.peakMemoryBytes)).toBeGreaterThan(50 << 20);
      expect(execution.cpuTime?.nanos).toBeGreaterThan(10_000_000);
    },
  },
  ...[
    {
      language: "javascript",
      code: "const m = require('node:v8').getHeapStatistics().heap_size_limit >> 20; console.log(m < 256 ? 'held' : m)",
    },
    { language: "python", code: "import os; print('held' if os.cpu_count() == 1 else os.cpu_count())" },
    {
      language: "go",
      code: 'package main\nimport ("os"; "runtime"; "runtime/debug")\nfunc main() { if runtime.GOMAXPROCS(0) == 1 && debug.SetMemoryLimit(-1) == 160<<20 { os.Stdout.WriteString("held\\n") } }',
    },
    {
      language: "java",
      code: 'public class Main { public static void main(String[] a) { Runtime r = Runtime.getRuntime(); long m = r.maxMemory() >> 20; System.out.println(m <= 128 && r.availableProcessors() == 1 ? "held" : m + " " + r.availableProcessors()); } }',
    },
  ].map(({ language, code }) => ({
    name: `${language} sizes itself by the limits of its run and says nothing of it`,
    language,
    code,
    options: { limits: { memoryBytes: 256 << 20 } },
    stdout: "held\n",
    stderr: "",
  })),
  {
    name: "Node is kept from sizing its heap by the host's memory",
    language: "javascript",
    code: "console.log(require('node:v8').getHeapStatistics().heap_size_limit < 512 * 1024 ** 2)",
    stdout: "true\n",
  },
];
