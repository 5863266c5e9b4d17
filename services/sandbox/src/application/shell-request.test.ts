import { newId } from "@drover/kernel";
import { expect, test } from "vitest";
import { languages } from "../domain/languages.ts";
import { defaultLimitPolicy } from "../domain/limits.ts";
import { checkRunRequest } from "./run-request.ts";
import { checkShellRequest } from "./shell-request.ts";

const limits = { timeoutMs: 120_000, maxTimeoutMs: 600_000, backgroundMs: 3_600_000, commands: new Set<string>() };
const request = {
  callId: newId(),
  taskId: "task",
  workspaceId: newId(),
  command: "ls",
  environment: {},
  timeoutMs: 0,
  background: false,
  allowedCommands: [],
};

const program = {
  ...request,
  language: "bash",
  code: "ls",
  files: [],
  arguments: [],
  stdin: new Uint8Array(),
  limits: { wallMs: 0, memoryBytes: 0, cpuMillis: 0, processes: 0, outputBytes: 0, compileMs: 0, cpuTimeMs: 0 },
};

test("a command has two minutes, at most ten, and an hour in the background", () => {
  expect(checkShellRequest(request, limits)).toBe(120_000);
  expect(checkShellRequest({ ...request, timeoutMs: 600_000 }, limits)).toBe(600_000);
  expect(checkShellRequest({ ...request, background: true }, limits)).toBe(3_600_000);
});

test.each([
  [{ timeoutMs: -1 }, "-1 ms", "0 to 600000 ms"],
  [{ timeoutMs: 1e-6 }, "0.000001 ms", "1 to 600000 ms, or 0 for the default"],
  [{ timeoutMs: 600_001 }, "600001 ms", "0 to 600000 ms"],
  [{ timeoutMs: 3_600_001, background: true }, "3600001 ms", "0 to 3600000 ms"],
])("a time-out of %j is refused by its field", (options, found, allowed) => {
  expect(() => checkShellRequest({ ...request, ...options }, limits)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", violations: [{ field: "timeout", found, allowed }] }),
  );
});

test.each([
  ["a variable of 128 KiB", { environment: { V: "x".repeat(131_069) } }, undefined],
  ["a byte more", { environment: { V: "ü".repeat(65_535) } }, "environment[V]"],
  ["forty of 32 KiB", { environment: variables(40, 32_768) }, "command"],
  ["more than 256", { environment: variables(257, 1) }, "environment"],
  ["an odd name", { environment: { "A-B": "" } }, "environment"],
  ["a NUL", { environment: { V: "a\u0000" } }, "environment[V]"],
  ["a command of 128 KiB", { command: "x".repeat(131_071) }, undefined],
  ["a longer one", { command: "x".repeat(131_072) }, "command"],
  ["nothing to run", { command: "" }, "command"],
])("what a command is told, and what a program is: %s", (_what, options, field) => {
  const violations = [expect.objectContaining({ field })];
  const check = () => checkShellRequest({ ...request, ...options }, limits);
  if (field === undefined) expect(check()).toBe(120_000);
  else expect(check).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT", violations }));
  if ("command" in options) return;
  const run = () => checkRunRequest({ ...program, ...options }, defaultLimitPolicy, languages);
  if (field === undefined) expect(run().language.name).toBe("bash");
  else expect(run).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});

function variables(count: number, length: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`V${index}`, "x".repeat(length)]));
}

test("where commands are named, others are refused wherever they stand", () => {
  const guarded = { ...limits, commands: new Set(["ls", "env"]) };
  expect(checkShellRequest(request, guarded)).toBe(120_000);
  for (const command of ["ls; rm x", "ls && rm x", "ls $(rm x)", "env X=1 rm x"]) {
    const refused = expect.objectContaining({ code: "PERMISSION_DENIED", message: expect.stringContaining('"rm"') });
    expect(() => checkShellRequest({ ...request, command }, guarded)).toThrow(refused);
  }
});

test("a request allows less than the configuration, never more", () => {
  const guarded = { ...limits, commands: new Set(["ls", "cat"]) };
  const ask = (allowedCommands: string[], command: string) => () =>
    checkShellRequest({ ...request, command, allowedCommands }, guarded);
  expect(ask(["ls", "rm"], "ls")()).toBe(120_000);
  const refused = { code: "PERMISSION_DENIED", reason: "COMMAND_NOT_ALLOWED" };
  for (const [allowed, command, message] of [
    [["ls", "rm"], "ls | rm x", 'The command "rm" is not among those that are allowed: ls.'],
    [["ls", "rm"], "cat x", 'The command "cat" is not among those that are allowed: ls.'],
    [["rm"], "rm x", 'The command "rm" is not among those that are allowed: none.'],
    [[], "rm x", 'The command "rm" is not among those that are allowed: cat, ls.'],
  ] as const) {
    expect(ask([...allowed], command)).toThrow(expect.objectContaining({ ...refused, message }));
  }
  expect(ask(["a b"], "ls")).toThrow(expect.objectContaining({ code: "INVALID_ARGUMENT" }));
});
