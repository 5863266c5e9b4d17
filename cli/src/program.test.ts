import { expect, test } from "vitest";
import { runCommandLine } from "./command-line.ts";
import { createProgram } from "./program.ts";
import type { Surroundings } from "./session.ts";

test.each([
  [["run"], "missing required argument 'task'"],
  [["run", "x", "--mode", "fast"], "Allowed choices are chat, rag, react, pse"],
  [["run", "x", "--rounds", "-1"], "must be a whole number"],
  [["tail", "x", "--from", "1e3"], "must be a whole number"],
  [["exec", "file.py"], "required option '--lang <name>' not specified"],
  [["doc", "put"], "missing required argument 'file'"],
  [["cancel", "a", "b"], "too many arguments"],
  [["tasks", "resume"], "missing required argument 'task'"],
  [["tasks", "resume", "x", "--rounds", "many"], "must be a whole number"],
  [["tasks", "steps"], "missing required argument 'task'"],
  [["privacy", "show"], "missing required argument 'purge'"],
  [["dance"], "unknown command 'dance'"],
  [["run", "x", "--colour"], "unknown option '--colour'"],
])("%j is refused before anything is called", async (words, why) => {
  let called = false;
  const program = createProgram(async () => {
    called = true;
  });
  const said: string[] = [];
  const listen = (command: Pick<typeof program, "configureOutput" | "commands">): void => {
    command.configureOutput({ writeErr: (text) => void said.push(text) });
    for (const child of command.commands) listen(child);
  };
  listen(program);
  await expect(program.parseAsync(words, { from: "user" })).rejects.toMatchObject({ exitCode: 1 });
  expect(said.join("")).toContain(why);
  expect(said.join("")).toMatch(/--help.*\.\n$/);
  expect(called).toBe(false);
});

function surroundings(environment: Surroundings["environment"]): {
  readonly out: string[];
  readonly err: string[];
  readonly around: Surroundings;
} {
  const out: string[] = [];
  const err: string[] = [];
  const terminal: Surroundings["terminal"] = {
    live: false,
    color: false,
    width: 80,
    print: (text) => void out.push(text),
    complain: (text) => void err.push(text),
    writeBytes: async () => {},
    readInput: async () => new Uint8Array(),
  };
  return { out, err, around: { terminal, environment, cwd: "/", signal: new AbortController().signal } };
}

test("an address that cannot be used is a usage error in words and in JSON", async () => {
  const { out, err, around } = surroundings({ DROVER_URL: "https://drover.example", DROVER_API_KEY: "drv_a" });
  expect(await runCommandLine(["doctor", "--json"], around)).toBe(2);
  expect(err.join("")).toMatch(/^DROVER_URL: https is not supported yet\.\nUse http/);
  expect(JSON.parse(out.join(""))).toMatchObject({
    error: { code: "USAGE", message: expect.stringContaining("https") },
  });
});

test("a file that cannot be read is named", async () => {
  const { err, around } = surroundings({ DROVER_API_KEY: "drv_a" });
  expect(await runCommandLine(["doc", "put", "/nowhere/a.md"], around)).toBe(2);
  expect(err.join("")).toContain("/nowhere/a.md cannot be read: there is no such file.");
});
