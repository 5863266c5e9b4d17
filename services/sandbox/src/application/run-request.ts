import { type FieldViolation, invalidField, invalidFields, isId } from "@drover/kernel";
import { type Language, languageNamed } from "../domain/language.ts";
import { applyLimits, type LimitPolicy, type Limits } from "../domain/limits.ts";
import { checkPaths } from "../domain/workspace-path.ts";

/** A file that comes with a request. */
export interface GivenFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly executable: boolean;
}

/** What a caller asks to run. */
export interface RunRequest {
  readonly callId: string;
  readonly taskId: string;
  readonly language: string;
  readonly code: string;
  readonly files: readonly GivenFile[];
  readonly arguments: readonly string[];
  readonly stdin: Uint8Array;
  readonly environment: Readonly<Record<string, string>>;
  readonly limits: Limits;
  readonly workspaceId: string;
}

const maxArguments = 256;
/** Linux takes at most 131,071 bytes in one argument or variable. */
const maxTextBytes = 128 * 1024 - 1;
/** Arguments and variables travel in one frame of at most 1 MiB, with the language's own. */
const maxTogetherBytes = 1_000_000;
/** As many as a workspace may have by default. */
const maxGivenFiles = 5000;
const token = /^[A-Za-z0-9_-]{1,64}$/;

/** Checks everything that can be checked without asking anybody, and names every fault. */
export function checkRunRequest(
  request: RunRequest,
  policy: LimitPolicy,
  languages: readonly Language[],
): { readonly language: Language; readonly limits: Limits } {
  if (!isId(request.callId)) {
    throw invalidField("call_id", JSON.stringify(request.callId.slice(0, 40)), "a lower-case UUID");
  }
  const language = languageNamed(request.language, languages);
  const limits = applyLimits(request.limits, policy);
  const faults = [...idFaults(request), ...argumentFaults(request), ...environmentFaults(request)];
  if (faults.length === 0) faults.push(...togetherFaults(request));
  if (request.files.length > maxGivenFiles) {
    faults.push({ field: "files", found: `${request.files.length}`, allowed: `at most ${maxGivenFiles}` });
  }
  if (request.code === "") faults.push({ field: "code", found: "nothing", allowed: "the text of a program" });
  if (faults.length > 0) throw invalidFields(faults);
  checkPaths(
    "files",
    request.files.map((file) => file.path),
  );
  return { language, limits };
}

function idFaults(request: RunRequest): FieldViolation[] {
  const faults: FieldViolation[] = [];
  if (request.taskId !== "" && !token.test(request.taskId)) {
    faults.push({ field: "task_id", found: JSON.stringify(request.taskId.slice(0, 40)), allowed: "an id, or nothing" });
  }
  if (request.workspaceId !== "" && !isId(request.workspaceId)) {
    const found = JSON.stringify(request.workspaceId.slice(0, 40));
    faults.push({ field: "workspace_id", found, allowed: "the id of a workspace, or nothing" });
  }
  return faults;
}

function argumentFaults(request: RunRequest): FieldViolation[] {
  if (request.arguments.length > maxArguments) {
    return [{ field: "arguments", found: `${request.arguments.length}`, allowed: `at most ${maxArguments}` }];
  }
  return request.arguments.flatMap((text, index) => textFaults(`arguments[${index}]`, text));
}

function environmentFaults(request: RunRequest): FieldViolation[] {
  const entries = Object.entries(request.environment);
  if (entries.length > maxArguments) {
    return [{ field: "environment", found: `${entries.length}`, allowed: `at most ${maxArguments}` }];
  }
  return entries.flatMap(([name, value]) =>
    /^[A-Za-z_][A-Za-z0-9_]{0,255}$/.test(name)
      ? textFaults(`environment[${name}]`, `${name}=${value}`)
      : [{ field: "environment", found: JSON.stringify(name.slice(0, 40)), allowed: "[A-Za-z_][A-Za-z0-9_]*" }],
  );
}

function togetherFaults(request: RunRequest): FieldViolation[] {
  const bytes = new TextEncoder().encode(JSON.stringify([request.arguments, request.environment])).length;
  if (bytes <= maxTogetherBytes) return [];
  const found = `${bytes} bytes together with the environment`;
  return [{ field: "arguments", found, allowed: `at most ${maxTogetherBytes}, written as JSON` }];
}

function textFaults(field: string, text: string): FieldViolation[] {
  if (text.includes("\u0000")) return [{ field, found: "a NUL", allowed: "text without NUL" }];
  const bytes = new TextEncoder().encode(text).length;
  return bytes > maxTextBytes ? [{ field, found: `${bytes} bytes`, allowed: `at most ${maxTextBytes}` }] : [];
}
