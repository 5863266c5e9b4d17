import { DroverError, type FieldViolation, invalidFields, isId } from "@drover/kernel";
import { allowedCommands, commandNames } from "../domain/command-guard.ts";
import { timeFaults } from "../domain/limits.ts";
import { programTextFaults } from "../domain/program-texts.ts";

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

const maxAllowed = 256;
const commandName = /^\S{1,256}$/;
const token = /^[A-Za-z0-9_-]{1,64}$/;

/** What the id of a task looks like. */
export function isTaskId(text: string): boolean {
  return token.test(text);
}

/** Names every fault of the request; gives the wall time that applies. */
export function checkShellRequest(request: ShellRequest, limits: ShellLimits): number {
  const faults: FieldViolation[] = [];
  const fault = (field: string, found: string, allowed: string) => faults.push({ field, found, allowed });
  if (!isId(request.callId)) fault("call_id", shown(request.callId), "a lower-case UUID");
  if (!token.test(request.taskId)) fault("task_id", shown(request.taskId), "the id of a task");
  if (!isId(request.workspaceId)) fault("workspace_id", shown(request.workspaceId), "the id of a workspace");
  const most = request.background ? limits.backgroundMs : limits.maxTimeoutMs;
  faults.push(...timeFaults("timeout", request.timeoutMs, most));
  if (request.command === "") fault("command", "nothing", "a command line");
  const { command, environment } = request;
  faults.push(...programTextFaults({ field: "command", arguments: [command], environment }));
  const names = request.allowedCommands;
  const odd = oddNames(names);
  if (odd !== undefined) fault("allowed_commands", odd, `at most ${maxAllowed} names without a space`);
  if (faults.length > 0) throw invalidFields(faults);
  checkNames(request.command, allowedCommands(limits.commands, names));
  return Math.floor(request.timeoutMs) || (request.background ? limits.backgroundMs : limits.timeoutMs);
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
