import { Verdict } from "@drover/proto/sandbox/v1/exec";
import { expect } from "vitest";
import type { Program } from "./program.ts";

/** Programs and their standard input. */
export const inputs: readonly Program[] = [
  { name: "is at its end at once where none is given", language: "bash", code: "cat; echo eof", stdout: "eof\n" },
  {
    name: "has no answer to a question, and says so",
    language: "python",
    code: "input('name? ')",
    execution: { verdict: Verdict.EXITED, exitCode: 1 },
    stdout: "name? ",
    check: ({ stderr }) => expect(stderr.toString()).toContain("EOFError"),
  },
  {
    name: "is no terminal, and there is none to open",
    language: "bash",
    code: "read -p 'password? ' x; echo $?; tty; (: </dev/tty) 2>/dev/null || echo none; [ -t 1 ] || echo plain",
    stdout: "1\nnot a tty\nnone\nplain\n",
  },
  {
    name: "of megabytes may stay unread",
    language: "bash",
    code: "exit 0",
    options: { stdin: Buffer.alloc(3 << 20) },
  },
  {
    name: "of megabytes may be closed by the program after its first line",
    language: "bash",
    code: "head -c 1; exec <&-; sleep 0.3; echo; echo done",
    options: { stdin: Buffer.alloc(3 << 20, "x") },
    stdout: "x\ndone\n",
  },
  {
    name: "of megabytes arrives whole, without a newline at its end",
    language: "bash",
    code: "wc -c",
    options: { stdin: Buffer.alloc(3_000_001, "x") },
    stdout: "3000001\n",
  },
  {
    name: "without a final newline gets none",
    language: "bash",
    code: "cat",
    options: { stdin: Buffer.from("a\nb") },
    stdout: "a\nb",
  },
  {
    name: "that ends does not take later output with it",
    language: "bash",
    code: "n=$(wc -l); sleep 1; echo $n lines; echo end >&2",
    options: { stdin: Buffer.from("hello\n") },
    stdout: "1 lines\n",
    stderr: "end\n",
  },
];
