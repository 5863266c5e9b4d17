import { expect, test } from "vitest";
import { type IsolationLevel, shortOf } from "./isolation.ts";

const good = [
  "uid=65534",
  `capabilities=${"0".repeat(32)}`,
  "no_new_privileges=1",
  "seccomp=2",
  "kernel=other",
  "forks=52",
];
const judged = (lines: readonly string[], level: IsolationLevel = "hardened", memoryHeld = true) =>
  shortOf(level, { output: `${lines.join("\n")}\n`, memoryHeld });
const changed = (from: string, to: string) =>
  good.map((line) => (line.startsWith(`${from}=`) ? `${from}=${to}` : line));

test("a container that is all it should be lacks nothing, and no level asks for nothing", () => {
  expect(judged(good)).toEqual([]);
  expect(judged([], "none", false)).toEqual([]);
});

test.each([
  ["root", changed("uid", "0"), "programs run as user 0"],
  ["a capability", changed("capabilities", "00000000a80425fb0000000000000000"), "programs have capabilities"],
  ["new privileges", changed("no_new_privileges", "0"), "no-new-privileges is off"],
  ["no filter", changed("seccomp", "0"), "no seccomp filter is on"],
  ["no limit of processes", changed("forks", "200"), "the limit of processes does not hold"],
  ["an unknown number of processes", changed("forks", ""), "the limit of processes does not hold"],
  ["a writable root", [...good, "wrote=/etc"], "programs can write to /etc"],
  ["process 1", [...good, "opened=/proc/1/fd/1"], "programs can open /proc/1/fd/1"],
  ["a network", [...good, "connected=1.1.1.1/53"], "programs reach the network (1.1.1.1/53)"],
  ["the engine", [...good, "host=/var/run/docker.sock"], "programs see /var/run/docker.sock"],
  ["a mount", [...good, "gained=mount"], "programs can make a mount"],
])("%s is named", (_name, lines, problem) => {
  expect(judged(lines)).toEqual([problem]);
});

test("a probe that said nothing is below every level, and memory must be held", () => {
  expect(judged([], "hardened", false).length).toBeGreaterThan(4);
  expect(judged(good, "hardened", false)).toEqual(["the limit of memory does not hold"]);
});

test("the level gvisor is the kernel's own word", () => {
  expect(judged(good, "gvisor")).toEqual(["programs do not run on gVisor's kernel"]);
  expect(judged(changed("kernel", "gvisor"), "gvisor")).toEqual([]);
});
