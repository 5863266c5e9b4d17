import { type FieldViolation, invalidField, invalidFields, isId } from "@drover/kernel";
import { type Language, languageNamed } from "../domain/language.ts";
import { applyLimits, type LimitPolicy, type Limits } from "../domain/limits.ts";
import { programTextFaults } from "../domain/program-texts.ts";
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
  const { arguments: given, environment } = request;
  const faults = [...idFaults(request), ...programTextFaults({ field: "arguments", arguments: given, environment })];
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
