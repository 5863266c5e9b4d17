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

test("only a program that came to its own end may change the workspace", () => {
  expect(endedByItself(outcomeOf({ ...facts, exit: { code: 1 } }))).toBe(true);
  expect(endedByItself(outcomeOf({ ...facts, killedBy: "timeout", exit: { code: 0 } }))).toBe(false);
  expect(endedByItself(outcomeOf({ ...facts, exit: { signal: 9 }, oomSeen: true }))).toBe(false);
});
