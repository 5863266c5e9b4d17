import { newId } from "@drover/kernel";
import { expect, test } from "vitest";
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

test("a command has two minutes, at most ten, and an hour in the background", () => {
  expect(checkShellRequest(request, limits)).toBe(120_000);
  expect(checkShellRequest({ ...request, timeoutMs: 600_000 }, limits)).toBe(600_000);
  expect(checkShellRequest({ ...request, background: true }, limits)).toBe(3_600_000);
});

test.each([
  [{ timeoutMs: -1 }, "-1 ms", "0 to 600000 ms"],
  [{ timeoutMs: 600_001 }, "600001 ms", "0 to 600000 ms"],
  [{ timeoutMs: 3_600_001, background: true }, "3600001 ms", "0 to 3600000 ms"],
])("a time-out of %j is refused by its field", (options, found, allowed) => {
  expect(() => checkShellRequest({ ...request, ...options }, limits)).toThrow(
    expect.objectContaining({ code: "INVALID_ARGUMENT", violations: [{ field: "timeout", found, allowed }] }),
  );
});

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
