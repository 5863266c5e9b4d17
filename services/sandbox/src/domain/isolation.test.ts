import { expect, test } from "vitest";
import { type IsolationLevel, shortOf } from "./isolation.ts";

const good = [
  "uid=65534",
  `capabilities=${"0".repeat(32)}`,
  "no_new_privileges=1",
  "seccomp=2",
  "kernel=other",
  "uid_map=         0     100000      65536",
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

test.each([
  ["every user is the host's", ["         0          0 4294967295"], ["user 0", "user 65534"]],
  ["root is the host's", ["0 0 1", "1 100001 65535"], ["user 0"]],
  ["the program's user is the host's", ["0 100000 65534", "65534 65534 1"], ["user 65534"]],
  ["a user is the host's root", ["0 100000 65534", "65534 0 1"], ["user 65534"]],
])("below the level userns: %s", (_name, maps, users) => {
  const lines = [...good.filter((line) => !line.startsWith("uid_map=")), ...maps.map((map) => `uid_map=${map}`)];
  expect(judged(lines, "userns")).toEqual(users.map((user) => `${user} of the container is a user of the host itself`));
  expect(judged(lines)).toEqual([]);
});

test("the level userns asks for a map of users that says so, or for a kernel that is not the host's", () => {
  expect(judged(good, "userns")).toEqual([]);
  expect(judged(changed("uid_map", "0 100000 1000"), "userns")).toEqual(["the users of the container are unknown"]);
  expect(judged(changed("uid_map", "nonsense"), "userns")).toEqual(["the users of the container are unknown"]);
  expect(judged(changed("kernel", "gvisor"), "userns")).toEqual([]);
  expect(judged(changed("seccomp", "0"), "userns")).toEqual(["no seccomp filter is on"]);
});

test("on gVisor a lower level is reached as well, and an open process 1 is below all of them", () => {
  const gvisor = changed("kernel", "gvisor").filter((line) => !/^(?:seccomp|no_new_privileges)=/.test(line));
  for (const level of ["hardened", "userns", "gvisor"] as const) {
    expect(judged(gvisor, level)).toEqual([]);
    expect(judged([...gvisor, "opened=/proc/1/environ"], level)).toEqual(["programs can open /proc/1/environ"]);
  }
});

test("a backend with one user for both is not held to a shut process 1 on gVisor, and on the host's kernel it is", () => {
  const open = [...good, "opened=/proc/1/fd/1"];
  const probed = { memoryHeld: true, processOneShared: true };
  expect(shortOf("hardened", { ...probed, output: open.join("\n") })).toEqual(["programs can open /proc/1/fd/1"]);
  const gvisor = open.join("\n").replace("kernel=other", "kernel=gvisor");
  expect(shortOf("gvisor", { ...probed, output: gvisor })).toEqual([]);
});

test("the level gvisor is the kernel's own word", () => {
  expect(judged(good, "gvisor")).toEqual(["programs do not run on gVisor's kernel"]);
  expect(judged(changed("kernel", "gvisor"), "gvisor")).toEqual([]);
});
