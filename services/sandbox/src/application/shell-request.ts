import { DroverError, type FieldViolation, invalidFields, isId } from "@drover/kernel";
import { allowedCommands, commandNames } from "../domain/command-guard.ts";

/** A shell command that a caller asks for. */
export interface ShellRequest {
  readonly callId: string;
  readonly taskId: string;
  readonly workspaceId: string;
  readonly command: string;
  readonly environment: Readonly<Record<string, string>>;
  /** 0 takes the default. */
  readonly timeoutMs: number;
  readonly background: boolean;
  /** Names that the command line may use, beside what the configuration allows; empty for no further limit. */
  readonly allowedCommands: readonly string[];
}

/** Wall times of commands, ms, and the commands that may be used. */
export interface ShellLimits {
  readonly timeoutMs: number;
  readonly maxTimeoutMs: number;
  readonly backgroundMs: number;
  /** Names that a command line may use; empty allows all. */
  readonly commands: ReadonlySet<string>;
}

/** Linux takes at most 131,071 bytes in one argument. */
const maxCommandBytes = 128 * 1024 - 1;
const maxVariables = 256;
const maxAllowed = 256;
const commandName = /^\S{1,256}$/;
const token = /^[A-Za-z0-9_-]{1,64}$/;
const variable = /^[A-Za-z_][A-Za-z0-9_]{0,255}$/;

/** Names every fault of the request; gives the wall time that applies. */
export function checkShellRequest(request: ShellRequest, limits: ShellLimits): number {
  const faults: FieldViolation[] = [];
  const fault = (field: string, found: string, allowed: string) => faults.push({ field, found, allowed });
  if (!isId(request.callId)) fault("call_id", shown(request.callId), "a lower-case UUID");
  if (!token.test(request.taskId)) fault("task_id", shown(request.taskId), "the id of a task");
  if (!isId(request.workspaceId)) fault("workspace_id", shown(request.workspaceId), "the id of a workspace");
  const most = request.background ? limits.backgroundMs : limits.maxTimeoutMs;
  if (request.timeoutMs < 0 || request.timeoutMs > most) fault("timeout", `${request.timeoutMs} ms`, `0 to ${most} ms`);
  const bytes = new TextEncoder().encode(request.command).length;
  if (bytes === 0 || bytes > maxCommandBytes) fault("command", `${bytes} bytes`, `1 to ${maxCommandBytes}`);
  if (request.command.includes("\u0000")) fault("command", "a NUL", "text without NUL");
  checkVariables(request.environment, fault);
  const names = request.allowedCommands;
  const odd = oddNames(names);
  if (odd !== undefined) fault("allowed_commands", odd, `at most ${maxAllowed} names without a space`);
  if (faults.length > 0) throw invalidFields(faults);
  checkNames(request.command, allowedCommands(limits.commands, names));
  return request.timeoutMs || (request.background ? limits.backgroundMs : limits.timeoutMs);
}

type Fault = (field: string, found: string, allowed: string) => void;

function checkVariables(environment: ShellRequest["environment"], fault: Fault): void {
  const entries = Object.entries(environment);
  if (entries.length > maxVariables) fault("environment", `${entries.length}`, `at most ${maxVariables}`);
  for (const [name, value] of entries.slice(0, maxVariables)) {
    if (!variable.test(name)) fault("environment", shown(name), "[A-Za-z_][A-Za-z0-9_]*");
    if (value.includes("\u0000")) fault(`environment[${name}]`, "a NUL", "text without NUL");
    if (value.length > 32 * 1024) fault(`environment[${name}]`, `${value.length} characters`, "at most 32768");
  }
}

function oddNames(names: readonly string[]): string | undefined {
  if (names.length > maxAllowed) return `${names.length} names`;
  const odd = names.find((name) => !commandName.test(name));
  return odd === undefined ? undefined : shown(odd);
}

function checkNames(command: string, allowed: ReadonlySet<string> | undefined): void {
  if (allowed === undefined) return;
  const refused = [...commandNames(command)].find((name) => !allowed.has(name));
  if (refused === undefined) return;
  const message = `The command ${shown(refused)} is not among those that are allowed: ${[...allowed].sort().join(", ") || "none"}.`;
  throw new DroverError("PERMISSION_DENIED", message, { reason: "COMMAND_NOT_ALLOWED" });
}

function shown(text: string): string {
  return JSON.stringify(text.slice(0, 40));
}
