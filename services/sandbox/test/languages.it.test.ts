import { Phase, Verdict } from "@drover/proto/sandbox/v1/exec";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { languages } from "../src/domain/languages.ts";
import { onGvisor, type SandboxUnderTest, startUnderTest } from "./sandbox-under-test.ts";

/** A language that only this configuration knows. */
const awk = {
  name: "awk",
  title: "GNU awk",
  image: "drover/sandbox-bash:6",
  mainFile: "main.awk",
  command: ["/usr/bin/gawk", "-f", "{program}"],
};

const slow = { ...awk, name: "slow", mainFile: "main.slow", compile: ["/usr/bin/sleep", "20"] };

let sandbox: SandboxUnderTest;
beforeAll(async () => {
  sandbox = await startUnderTest({ DROVER_SANDBOX_LANGUAGES: JSON.stringify([slow, awk]) });
});
afterAll(async () => {
  await sandbox[Symbol.asyncDispose]();
  // An answer does not wait for the removal of its container.
  await vi.waitFor(async () => expect(await sandbox.containers()).toEqual([]), { timeout: 15_000, interval: 50 });
});

/** A program that prints its argument, what its other file says, and its input; and one that no compiler takes. */
interface Sample {
  readonly code: string;
  readonly files: Readonly<Record<string, string>>;
  readonly broken: string;
}

const samples: Readonly<Record<string, Sample>> = {
  typescript: {
    code: `import { word } from "./lib/word.ts";
import { readFileSync } from "node:fs";
enum Kind { A = 7 }
const line: string = readFileSync(0, "utf8");
process.stdout.write(\`\${process.argv[2]} \${word()} \${line}\`);
process.exit(Kind.A);`,
    files: { "lib/word.ts": 'export const word = (): string => "word";' },
    broken: "const a: = 1;",
  },
  c: {
    code: `#include <stdio.h>
#include "lib/word.h"
int main(int argc, char **argv) { char line[64]; fgets(line, 64, stdin); printf("%s %s %s", argv[1], word(), line); return 7; }`,
    files: { "lib/word.h": "const char *word(void);", "lib/word.c": 'const char *word(void) { return "word"; }' },
    broken: "int main( { }",
  },
  cpp: {
    code: `#include <iostream>
#include <string>
std::string word();
int main(int, char **argv) { std::string line; std::getline(std::cin, line); std::cout << argv[1] << ' ' << word() << ' ' << line << std::endl; return 7; }`,
    files: { "word.cc": '#include <string>\nstd::string word() { return "word"; }' },
    broken: "int main() { return undeclared; }",
  },
  go: {
    code: `package main
import ("bufio"; "fmt"; "os")
func main() { line, _ := bufio.NewReader(os.Stdin).ReadString('\\n'); fmt.Print(os.Args[1], " ", word(), " ", line); os.Exit(7) }`,
    files: { "word.go": 'package main\nfunc word() string { return "word" }' },
    broken: "package main\nfunc main() { x := 1 }",
  },
  rust: {
    code: `mod word;
fn main() { let mut line = String::new(); std::io::stdin().read_line(&mut line).unwrap();
  print!("{} {} {}", std::env::args().nth(1).unwrap(), word::word(), line); std::process::exit(7); }`,
    files: { "word.rs": 'pub fn word() -> &\'static str { "word" }' },
    broken: 'fn main() { let x: i32 = "text"; }',
  },
  java: {
    code: `import java.util.Scanner;
public class Main { public static void main(String[] a) { System.out.print(a[0] + " " + lib.Word.word() + " " + new Scanner(System.in).nextLine() + "\\n"); System.exit(7); } }`,
    files: { "lib/Word.java": 'package lib; public class Word { public static String word() { return "word"; } }' },
    broken: "public class Other { }",
  },
};

const filesOf = (files: Sample["files"]) =>
  Object.entries(files).map(([path, text]) => ({ path, content: Buffer.from(text) }));

describe.each(Object.entries(samples))("%s", (language, sample) => {
  test("compiles and runs several files with an argument and input", async () => {
    const seen = await sandbox.run(language, sample.code, {
      files: filesOf(sample.files),
      arguments: ["an argument"],
      stdin: Buffer.from("a line\n"),
    });
    const { execution } = seen;
    expect([seen.stdout.toString(), seen.stderr.toString()]).toEqual(["an argument word a line\n", ""]);
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 7, phase: Phase.RUN, signal: "" });
    expect(execution.compile).toMatchObject({ exitCode: 0, signal: "" });
    expect(execution.imageDigest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(execution.policyVersion).toMatch(/^[0-9a-f]{16}$/);
    const { start, inject, compile, run } = execution.phaseTimes ?? {};
    for (const phase of [start, inject, compile, run]) expect(phase?.nanos).toBeGreaterThan(0);
    const read = await sandbox.exec.getExecution(
      { key: { case: "id", value: execution.id } },
      sandbox.as(sandbox.tenant),
    );
    expect(read.execution).toEqual(execution);
  });

  test("stands in for a main file that is there already", async () => {
    const own = languages.find(({ name }) => name === language)?.mainFile ?? "";
    const files = filesOf({ ...sample.files, [own]: sample.broken });
    const options = { files, arguments: ["x"], stdin: Buffer.from("y\n") };
    const { stdout, execution } = await sandbox.run(language, sample.code, options);
    expect([stdout.toString(), execution.compile?.exitCode]).toEqual(["x word y\n", 0]);
  });

  test("what does not compile ends in the compiler's exit, with what it said", async () => {
    const { execution, stdout, stderr } = await sandbox.run(language, sample.broken);
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 1, phase: Phase.COMPILE });
    expect(execution.message).toBe("The compiler exited with 1.");
    expect(execution.compile?.exitCode).toBe(1);
    const said = [execution.compile?.stdout, execution.compile?.stderr].map((facts) =>
      Buffer.from(facts?.head ?? []).toString(),
    );
    expect(said.join("")).toMatch(/main\.|Main\./);
    expect([stdout.length, stderr.length, execution.stdout?.bytesSeen]).toEqual([0, 0, 0n]);
  });
});

test("a language of the configuration is listed and runs", async () => {
  const listed = await sandbox.exec.listLanguages({}, sandbox.as(sandbox.tenant));
  expect(listed.languages.at(-1)).toMatchObject({ name: "awk", title: "GNU awk", image: awk.image, available: true });
  const seen = await sandbox.run("awk", "{ print $2 }", { stdin: Buffer.from("a b\n") });
  expect(seen.stdout.toString()).toBe("b\n");
  expect(seen.execution).toMatchObject({ exitCode: 0, image: awk.image, phase: Phase.RUN });
  expect(seen.execution.compile).toBeUndefined();
});

describe("limits of the phases", () => {
  test("a compiler that does not come to an end is ended by its own limit", async () => {
    const { execution } = await sandbox.run("slow", "any", { limits: { compileMs: 700 } });
    expect(execution).toMatchObject({ verdict: Verdict.TIMEOUT_WALL, phase: Phase.COMPILE, killedBy: "timeout" });
    expect(execution.exitCode).toBeUndefined();
    expect(execution.message).toBe("The compiler ran longer than 700 ms and was killed.");
    expect(execution.appliedLimits?.compileTime).toMatchObject({ seconds: 0n, nanos: 700_000_000 });
  });

  test("a compiler that takes all memory has run out of it, whatever its first process made of that", async () => {
    const { execution } = await sandbox.run("c", '#include "/dev/zero"\nint main() { }', {
      limits: { memoryBytes: 96 << 20 },
    });
    expect(execution).toMatchObject({ verdict: Verdict.OOM, phase: Phase.COMPILE, oomSeen: true });
  });

  test("CPU time ends all processes of a program, long before its wall time", async () => {
    const code = "for i in 1 2 3; do (while :; do :; done) & done; while :; do :; done";
    const { execution } = await sandbox.run("bash", code, { limits: { cpuMs: 400, wallMs: 20_000 } });
    expect(execution).toMatchObject({ verdict: Verdict.TIMEOUT_CPU, killedBy: "timeout", phase: Phase.RUN });
    expect(execution.message).toContain("400 ms of CPU time");
    expect(execution.wallTime?.seconds).toBeLessThan(10n);
  });

  test("a program that only waits uses none", async () => {
    const { execution } = await sandbox.run("bash", "sleep 0.8; echo done", { limits: { cpuMs: 300 } });
    expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0 });
  });

  test.each([
    ["bytes", "head -c 1G /dev/zero >/tmp/x"],
    ["files", "cd /workspace && for i in $(seq 20000); do : >$i || exit 3; done"],
  ])("a program that fails on a disk without %s ended by its limit", async (name, code) => {
    const { execution } = await sandbox.run("bash", code);
    // tmpfs of gVisor takes nr_inodes and does not keep it: there files end with the bytes that they take of memory.
    if (onGvisor() && name === "files")
      return expect(execution).toMatchObject({ verdict: Verdict.EXITED, exitCode: 0 });
    expect(execution).toMatchObject({ verdict: Verdict.DISK_LIMIT, killedBy: "", phase: Phase.RUN });
    expect(execution.exitCode).toBeGreaterThan(0);
  });

  test("a file over its own limit is the disk's limit too", async () => {
    const { execution } = await sandbox.run("bash", "ulimit -f 1; exec head -c 100000 /dev/zero >x");
    expect(execution).toMatchObject({ verdict: Verdict.DISK_LIMIT, signal: "SIGXFSZ" });
  });
});
