import { expect, test } from "vitest";
import { endedByItself, outcomeOf, type RunFacts } from "./verdict.ts";

const facts: RunFacts = { killedBy: "", oomSeen: false, wallLimitMs: 1000 };

test.each<[string, Partial<RunFacts>, string]>([
  ["exit 0", { exit: { code: 0 } }, "EXITED"],
  ["exit 137 without a kill", { exit: { code: 137 } }, "EXITED"],
  ["exit 0 with a child killed for memory", { exit: { code: 0 }, oomSeen: true }, "EXITED"],
  ["SIGSEGV", { exit: { signal: 11 } }, "SIGNALED"],
  ["SIGKILL from inside", { exit: { signal: 9 } }, "SIGNALED"],
  ["SIGSEGV after a child was killed for memory", { exit: { signal: 11 }, oomSeen: true }, "SIGNALED"],
  ["SIGKILL by the kernel", { exit: { signal: 9 }, oomSeen: true }, "OOM"],
  ["files that do not fit", { diskFull: true, lost: "x" }, "DISK_LIMIT"],
  ["a failure with the disk full", { exit: { code: 1 }, diskFull: true }, "DISK_LIMIT"],
  ["exit 0 with the disk full", { exit: { code: 0 }, diskFull: true }, "EXITED"],
  ["SIGBUS with the disk full", { exit: { signal: 7 }, diskFull: true }, "DISK_LIMIT"],
  ["SIGXFSZ", { exit: { signal: 25 } }, "DISK_LIMIT"],
  ["a compiler one part of which was killed for memory", { phase: "compile", exit: { code: 1 }, oomSeen: true }, "OOM"],
  ["CPU time used up", { cpuExceeded: true, exit: { signal: 9 } }, "TIMEOUT_CPU"],
  ["CPU time used up, and out of wall time too", { cpuExceeded: true, killedBy: "timeout" }, "TIMEOUT_WALL"],
  ["CPU time used up under a cancel", { cpuExceeded: true, killedBy: "cancel" }, "CANCELLED"],
  ["process 1 lost to memory", { oomSeen: true, lost: "x" }, "OOM"],
  ["process 1 lost", { lost: "x" }, "INFRA_LOST"],
  ["our time-out, whatever followed", { killedBy: "timeout", exit: { code: 0 } }, "TIMEOUT_WALL"],
  ["our time-out with memory seen", { killedBy: "timeout", exit: { signal: 9 }, oomSeen: true }, "TIMEOUT_WALL"],
  ["our cancel", { killedBy: "cancel", exit: { signal: 9 } }, "CANCELLED"],
  ["the output limit", { killedBy: "output" }, "OUTPUT_LIMIT"],
  ["the service's end", { killedBy: "daemon", lost: "x" }, "INFRA_LOST"],
  ["no such program", { launchError: "no such file" }, "LAUNCH_FAILED"],
])("%s", (_name, some, verdict) => {
  expect(outcomeOf({ ...facts, ...some }).verdict).toBe(verdict);
});

test("an exit has a code and no signal, a signal has its name and no code", () => {
  expect(outcomeOf({ ...facts, exit: { code: 3 } })).toMatchObject({ exitCode: 3, signal: "" });
  const signalled = outcomeOf({ ...facts, exit: { signal: 11 } });
  expect(signalled.signal).toBe("SIGSEGV");
  expect(signalled.exitCode).toBeUndefined();
  expect(outcomeOf({ ...facts, exit: { signal: 40 } }).signal).toBe("SIG40");
});

test("the compiler's end is told as its own, and changes nothing", () => {
  const outcome = outcomeOf({ ...facts, phase: "compile", exit: { code: 1 } });
  expect(outcome).toMatchObject({ verdict: "EXITED", exitCode: 1, phase: "compile" });
  expect(outcome.message).toBe("The compiler exited with 1.");
  expect(endedByItself(outcome)).toBe(false);
  const late = outcomeOf({ ...facts, phase: "compile", killedBy: "timeout" });
  expect(late).toMatchObject({
    verdict: "TIMEOUT_WALL",
    message: "The compiler ran longer than 1000 ms and was killed.",
  });
});

test("a command that ended when it was told to was not killed", () => {
  expect(outcomeOf({ ...facts, killedBy: "timeout", exit: { code: 7 } }).message).toBe(
    "The program ran longer than 1000 ms and was told to end, and exited with 7.",
  );
  expect(outcomeOf({ ...facts, killedBy: "timeout", exit: { signal: 15 } }).message).toBe(
    "The program ran longer than 1000 ms and was killed.",
  );
});

test("CPU time says its limit, and a full disk keeps the exit code", () => {
  const outcome = outcomeOf({ ...facts, cpuExceeded: true, cpuLimitMs: 300 });
  expect(outcome).toMatchObject({
    killedBy: "timeout",
    message: "The program used more than 300 ms of CPU time and was killed.",
  });
  expect(outcomeOf({ ...facts, exit: { code: 4 }, diskFull: true })).toMatchObject({
    exitCode: 4,
    message: "The program exited with 4. /workspace or /tmp was full.",
  });
});

test("a kill for memory is told where it may be a neighbour's, and is the verdict of none that went on", () => {
  const exited = { ...facts, exit: { code: 0 }, oomSeen: true };
  expect(outcomeOf(exited).message).toBe("The program exited with 0. One of its processes was killed for memory.");
  expect(outcomeOf({ ...exited, beside: true })).toMatchObject({
    verdict: "EXITED",
    message: "The program exited with 0. A process of its session was killed for memory.",
  });
});

test("only a program that came to its own end may change the workspace", () => {
  expect(endedByItself(outcomeOf({ ...facts, exit: { code: 1 } }))).toBe(true);
  expect(endedByItself(outcomeOf({ ...facts, killedBy: "timeout", exit: { code: 0 } }))).toBe(false);
  expect(endedByItself(outcomeOf({ ...facts, exit: { signal: 9 }, oomSeen: true }))).toBe(false);
});
