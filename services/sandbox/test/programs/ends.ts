import { Verdict } from "@drover/proto/sandbox/v1/exec";
import type { Program } from "./program.ts";

const exits: Program[] = [137, 124, 255].map((code) => ({
  name: `exit ${code} is an exit, not a signal, time-out or memory`,
  language: "bash",
  code: `exit ${code}`,
  execution: {
    verdict: Verdict.EXITED,
    exitCode: code,
    signal: "",
    killedBy: "",
    oomSeen: false,
    message: `The program exited with ${code}.`,
  },
}));

const signals: Program[] = ["SEGV", "ABRT", "KILL", "TERM", "PIPE"].map((name) => ({
  name: `a program that sends SIG${name} to itself was signalled`,
  language: "bash",
  code: `kill -${name} $$; sleep 5`,
  execution: { verdict: Verdict.SIGNALED, signal: `SIG${name}`, killedBy: "", oomSeen: false },
  check: ({ execution }) => {
    if (execution.exitCode !== undefined) throw new Error(`A signal came with the exit code ${execution.exitCode}.`);
  },
}));

const timedOut = { verdict: Verdict.TIMEOUT_WALL, killedBy: "timeout", oomSeen: false, signal: "" };

/** How programs end, and how they try not to. */
export const ends: readonly Program[] = [
  ...exits,
  {
    name: "exit -1 is 255",
    language: "python",
    code: "import sys; sys.exit(-1)",
    execution: { verdict: Verdict.EXITED, exitCode: 255 },
  },
  ...signals,
  {
    name: "SIGTERM, SIGINT and SIGHUP are ignored: killed after its time, with the output it made",
    language: "bash",
    code: "trap '' TERM INT HUP; echo up; while :; do sleep 1; done",
    options: { limits: { wallMs: 700 } },
    execution: timedOut,
    stdout: "up\n",
  },
  {
    name: "a last word on SIGTERM is kept, and the end is a time-out all the same",
    language: "bash",
    code: "trap 'echo bye; exit 0' TERM; while :; do sleep 0.05; done",
    options: { limits: { wallMs: 500 } },
    execution: timedOut,
    stdout: "bye\n",
  },
  {
    name: "a daemon in a session of its own that holds the pipe neither delays nor survives the end",
    language: "bash",
    // The daemon would last longer than a test may take.
    code: "setsid sh -c 'sleep 600; echo late' & disown; echo now",
    stdout: "now\n",
  },
  {
    name: "a child forked twice into a session of its own is as dead as the others",
    language: "python",
    code: `
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        time.sleep(600)
        print("late", flush=True)
    os._exit(0)
os.wait()
print("parent", flush=True)`,
    stdout: "parent\n",
  },
  {
    name: "closing both streams is not the end",
    language: "bash",
    code: "exec 1>&- 2>&-; sleep 2; exit 5",
    execution: { verdict: Verdict.EXITED, exitCode: 5 },
    stdout: "",
    stderr: "",
  },
  {
    name: "a thousand orphans are reaped and leave room for the next process",
    language: "python",
    code: `
import os, subprocess
for _ in range(1000):
    if (child := os.fork()) == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
print(subprocess.run(["/bin/echo", "room"], capture_output=True).stdout)`,
    stdout: "b'room\\n'\n",
    gvisor: {
      why: "two thousand forks take longer than the time limit of a program on a machine of two CPUs",
      code: `
import os, subprocess
for _ in range(100):
    if (child := os.fork()) == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(child, 0)
print(subprocess.run(["/bin/echo", "room"], capture_output=True).stdout)`,
    },
  },
  {
    name: "children that are never waited for use up the program's own processes alone",
    language: "python",
    code: `
import os
made = 0
try:
    while made < 1000:
        if os.fork() == 0: os._exit(0)
        made += 1
except BlockingIOError as e: print(e.errno, made < 100)`,
    stdout: "11 True\n",
  },
  {
    name: "sleeping past the limit is a time-out",
    language: "bash",
    code: "sleep 600",
    options: { limits: { wallMs: 300 } },
    execution: timedOut,
  },
  {
    name: "so is spinning",
    language: "python",
    code: "while True: pass",
    options: { limits: { wallMs: 700 } },
    execution: timedOut,
  },
  {
    name: "so is a mix of both",
    language: "python",
    code: "import time\nwhile True: sum(range(20000)); time.sleep(0.01)",
    options: { limits: { wallMs: 700 } },
    execution: timedOut,
  },
  {
    name: "a time-out keeps what both streams said before it, each for itself",
    language: "bash",
    code: "echo out; echo err >&2; sleep 600",
    options: { limits: { wallMs: 700 } },
    execution: timedOut,
    stdout: "out\n",
    stderr: "err\n",
    check: ({ execution }) => {
      if (execution.exitCode !== undefined) throw new Error("A time-out has no exit code.");
    },
  },
];
