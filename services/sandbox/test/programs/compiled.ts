import { Phase, Verdict } from "@drover/proto/sandbox/v1/exec";
import { expect } from "vitest";
import type { RunSeen } from "../sandbox-under-test.ts";
import type { Program } from "./program.ts";

/** The compiler ended by itself and said why. */
function compilerSaid(words: RegExp) {
  return ({ execution, stdout }: RunSeen) => {
    expect(execution).toMatchObject({ phase: Phase.COMPILE });
    expect(execution.exitCode).toBeGreaterThan(0);
    const said = [execution.compile?.stdout, execution.compile?.stderr].map((facts) => Buffer.from(facts?.head ?? []));
    expect(Buffer.concat(said).toString()).toMatch(words);
    expect(stdout.length).toBe(0);
  };
}

const refusals: Program[] = (
  [
    ["a class of another name than its file's", "java", "public class Other { }", /Other/],
    ["two public classes in a file", "java", "public class Main { }\npublic class Second { }", /Second/],
    ["Go without a package main's function", "go", "package main\nvar x = 1", /main/],
    ["C that is only declarations", "c", "#include <stdio.h>\nint f(void);", /main/],
    [
      "a template without an end",
      "cpp",
      "template<int N> struct T { T<N+1> t; };\nT<0> t;\nint main() {}",
      /depth|incomplete/,
    ],
    ["the host's password file as a header", "c", '#include "/etc/shadow"\nint main(void) { return 0; }', /shadow/],
    ["the host's password file as text", "rust", 'fn main() { print!("{}", include_str!("/etc/shadow")); }', /shadow/],
  ] as const
).map(([name, language, code, words]) => ({
  name: `${name}: the compiler says so, and that is an exit`,
  language,
  code,
  execution: { verdict: Verdict.EXITED, signal: "", killedBy: "", oomSeen: false },
  check: compilerSaid(words),
}));

/** Programs that are compiled, and compilers that are abused. */
export const compiled: readonly Program[] = [
  ...refusals,
  {
    name: "a compiler that computes without end is ended at its own time limit",
    language: "cpp",
    code: `constexpr unsigned long f(unsigned long n) { unsigned long s = 0; for (unsigned long i = 0; i < n; i++) s += i; return s; }
constexpr unsigned long a = f(30000000), b = f(30000001), c = f(30000002), d = f(30000003), e = f(30000004);
int main() { return (a + b + c + d + e) & 1; }`,
    options: { limits: { compileMs: 1500 } },
    execution: {},
    check: ({ execution }) => {
      // The compiler has a limit of its own on such work; which one is met first is the machine's.
      expect(execution.phase).toBe(Phase.COMPILE);
      expect([Verdict.TIMEOUT_WALL, Verdict.EXITED]).toContain(execution.verdict);
      expect(execution.exitCode).not.toBe(0);
    },
  },
  {
    name: "a header without an end is ended by a limit, and labelled as compiling",
    language: "c",
    code: '#include "/dev/zero"\nint main(void) { return 0; }',
    options: { limits: { compileMs: 10_000, memoryBytes: 128 << 20 } },
    execution: {},
    check: ({ execution }) => {
      expect(execution.phase).toBe(Phase.COMPILE);
      expect([Verdict.TIMEOUT_WALL, Verdict.OOM, Verdict.EXITED]).toContain(execution.verdict);
      expect(execution.exitCode).not.toBe(0);
    },
  },
  {
    name: "threads without end are an error of the Java program",
    language: "java",
    code: `public class Main { public static void main(String[] a) {
  try { while (true) { Thread t = new Thread(() -> { try { Thread.sleep(600000); } catch (InterruptedException e) { } }); t.setDaemon(true); t.start(); } }
  catch (OutOfMemoryError e) { System.out.println("no more"); System.out.flush(); Runtime.getRuntime().halt(3); }
} }`,
    execution: { verdict: Verdict.EXITED, exitCode: 3, oomSeen: false },
    check: ({ stdout }) => expect(stdout.toString()).toMatch(/no more\n$/),
  },
  {
    name: "threads without end are an error of the Go program",
    language: "go",
    code: `package main
import ("runtime"; "syscall"; "time")
func main() { for { go func() { runtime.LockOSThread(); syscall.Select(0, nil, nil, nil, &syscall.Timeval{Sec: 600}) }(); time.Sleep(time.Millisecond) } }`,
    options: { limits: { wallMs: 20_000 } },
    execution: { verdict: Verdict.EXITED, exitCode: 2, oomSeen: false },
    check: ({ stderr }) => expect(stderr.toString()).toMatch(/pthread_create failed|failed to create new OS thread/),
  },
  {
    name: "a null pointer in C is SIGSEGV",
    language: "c",
    code: "#include <stddef.h>\nint main(void) { volatile int *p = NULL; return *p; }",
    execution: { verdict: Verdict.SIGNALED, signal: "SIGSEGV", oomSeen: false },
  },
  {
    name: "abort() in C is SIGABRT",
    language: "c",
    code: "#include <stdlib.h>\nint main(void) { abort(); }",
    execution: { verdict: Verdict.SIGNALED, signal: "SIGABRT", oomSeen: false },
  },
];
