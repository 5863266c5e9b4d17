import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { expect } from "vitest";
import type { Program } from "./program.ts";

const file = (path: string, content: string | Uint8Array) => ({ path, content: Buffer.from(content as string) });

/** Sources as editors, other systems and pranksters write them. */
export const sources: readonly Program[] = [
  {
    name: "a byte order mark before Python is no fault",
    language: "python",
    code: "\ufeffprint('ran')",
    stdout: "ran\n",
  },
  {
    name: "a shebang that ends in CR is the program's own error",
    language: "bash",
    code: "chmod +x s; ./s; echo $?",
    options: { files: [file("s", "#!/bin/sh\r\necho ran\r\n")] },
    execution: { verdict: Verdict.EXITED, exitCode: 0 },
    stdout: "127\n",
  },
  {
    name: "names beyond ASCII and text that runs from right to left keep their bytes",
    language: "python",
    code: "größe = 3\ns = '\u202eabc\u202c'\nprint(größe, s.encode().hex())",
    stdout: "3 e280ae616263e280ac\n",
  },
  {
    name: "mixed tabs and spaces are a clear error",
    language: "python",
    code: "if True:\n        x = 1\n\ty = 2\n",
    execution: { verdict: Verdict.EXITED, exitCode: 1 },
    check: ({ stderr }) => expect(stderr.toString()).toContain("TabError"),
  },
  {
    name: "a source in UTF-16 is a clear error and its bytes are untouched",
    language: "bash",
    code: "od -An -tx1 m.py; python3 -V 2>/dev/null; exit 0",
    options: { files: [file("m.py", Buffer.from("\ufeffx=1", "utf16le"))] },
    execution: { verdict: Verdict.EXITED, exitCode: 0 },
    check: ({ stdout }) => expect(stdout.toString()).toContain("ff fe 78 00 3d 00 31 00"),
  },
  {
    name: "a module in UTF-16 is a clear error of the interpreter",
    language: "python",
    code: "import m",
    options: { files: [file("m.py", Buffer.from("\ufeffx=1", "utf16le"))] },
    execution: { verdict: Verdict.EXITED, exitCode: 1 },
    check: ({ stderr }) => expect(stderr.toString()).toMatch(/SyntaxError|UnicodeDecodeError/),
  },
  {
    name: "a program of 200 kB, far more than a command line takes, runs",
    language: "bash",
    code: `: ${"x".repeat(200_000)}\necho ran`,
    stdout: "ran\n",
  },
  {
    name: "files in nested folders have the program's owner and the right mode",
    language: "bash",
    // Not stat(1): this gVisor refuses a flag of statx(2) that coreutils use.
    code: "perl -e 'for (@ARGV) { my @s = stat; printf qq(%s %o %d\\n), $_, $s[2] & 07777, $s[4] }' a/b/c.txt a/run.sh a a/b; a/run.sh; echo more >>a/b/c.txt && wc -l <a/b/c.txt",
    options: {
      files: [file("a/b/c.txt", "text\n"), { ...file("a/run.sh", "#!/bin/sh\necho ran\n"), executable: true }],
    },
    check: ({ stdout }) => {
      expect(stdout.toString()).toMatch(
        /^a\/b\/c\.txt 6\d\d 65534\na\/run\.sh 7\d\d 65534\na 7\d\d 65534\na\/b 7\d\d 65534\nran\n2\n$/,
      );
    },
  },
  {
    name: "a heredoc and a subprocess that takes its time return",
    language: "bash",
    code: "cat <<'END'\nline $HOME\nEND\nsh -c 'for i in 1 2 3; do echo step $i; sleep 0.3; done'\necho done",
    stdout: "line $HOME\nstep 1\nstep 2\nstep 3\ndone\n",
  },
  {
    name: "arguments, variables and input reach the program byte for byte",
    language: "python",
    code: "import os, sys; print(sys.argv[1:], ascii(os.environ['V']), ascii(sys.stdin.read()))",
    options: {
      arguments: ["", "a b", "$HOME `id` \"'\\", "-x", "é\n"],
      environment: { V: "x=\n'é" },
      stdin: Buffer.from("in"),
    },
    stdout: `['', 'a b', '$HOME \`id\` "\\'\\\\', '-x', 'é\\n'] "x=\\n'\\xe9" 'in'\n`,
  },
];
