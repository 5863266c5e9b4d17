import { redact } from "@drover/redaction";
import type { Insertable, Selectable } from "kysely";
import type { Execution, ExecutionResult, PhaseResult } from "../../domain/execution.ts";
import type { Limits } from "../../domain/limits.ts";
import type { OutputFacts } from "../../domain/output-cap.ts";
import type { SandboxSchema } from "./schema.ts";

type Table = SandboxSchema["execution"];

/** A row with its output, or without (lists leave it in the database). */
export type ExecutionRow = Omit<
  Selectable<Table>,
  OutputColumn | "body_hash" | "owner" | "lease_until" | "container_id"
> &
  Partial<Pick<Selectable<Table>, OutputColumn>>;

type OutputColumn = "stdout_head" | "stdout_tail" | "stderr_head" | "stderr_tail" | "compile_output";
type Counts = Pick<OutputFacts, "seen" | "dropped">;
type Counted<T> = Omit<T, "stdout" | "stderr"> & { readonly stdout: Counts; readonly stderr: Counts };
type StoredResult = Omit<Counted<ExecutionResult>, "compile"> & { readonly compile?: Counted<PhaseResult> };

/** The compiler's streams, each its head and its tail in Base64. */
interface CompileOutput {
  readonly stdout: readonly [string, string];
  readonly stderr: readonly [string, string];
}

/** The columns a new execution starts with. */
export function acceptedRow(execution: Execution): Omit<Insertable<Table>, "body_hash" | "owner" | "lease_until"> {
  return {
    tenant_id: execution.tenant,
    id: execution.id,
    call_id: execution.callId,
    task_id: execution.taskId,
    language: execution.language,
    image: execution.image,
    runtime: execution.runtime,
    limits: JSON.stringify(execution.limits),
    workspace_id: execution.workspaceId,
    workspace_version_before: execution.workspaceVersionBefore,
    accepted_at: execution.acceptedAt,
  };
}

/** The columns that an execution gets at its end. Output that shows a secret is stored with it masked. */
export function resultColumns(execution: Execution, result: ExecutionResult) {
  const { stdout, stderr, compile, ...rest } = result;
  const stored: StoredResult = {
    ...counted({ ...rest, stdout, stderr }),
    ...(compile && { compile: counted(compile) }),
  };
  return {
    started_at: execution.startedAt ?? null,
    ended_at: execution.endedAt ?? null,
    result: JSON.stringify(stored),
    stdout_head: storable(stdout.head),
    stdout_tail: storable(stdout.tail),
    stderr_head: storable(stderr.head),
    stderr_tail: storable(stderr.tail),
    compile_output: compile === undefined ? null : JSON.stringify(compileOutputOf(compile)),
  };
}

/** The execution that a row records. */
export function executionOf(row: ExecutionRow): Execution {
  return {
    id: row.id,
    tenant: row.tenant_id,
    callId: row.call_id,
    taskId: row.task_id,
    language: row.language,
    image: row.image,
    runtime: row.runtime,
    limits: row.limits as Limits,
    workspaceId: row.workspace_id,
    workspaceVersionBefore: row.workspace_version_before,
    acceptedAt: row.accepted_at,
    ...(row.started_at === null ? {} : { startedAt: row.started_at }),
    ...(row.ended_at === null ? {} : { endedAt: row.ended_at }),
    ...(row.result === null ? {} : { result: resultOf(row, row.result as StoredResult) }),
  };
}

function resultOf(row: ExecutionRow, { compile, ...stored }: StoredResult): ExecutionResult {
  return {
    ...stored,
    ...(compile && { compile: compileOf(compile, row.compile_output as CompileOutput | null | undefined) }),
    stdout: outputOf(stored.stdout, row.stdout_head, row.stdout_tail),
    stderr: outputOf(stored.stderr, row.stderr_head, row.stderr_tail),
  };
}

function compileOf(stored: Counted<PhaseResult>, output: CompileOutput | null | undefined): PhaseResult {
  const stream = (name: "stdout" | "stderr") => {
    const [head, tail] = (output?.[name] ?? []).map((text) => new Uint8Array(Buffer.from(text, "base64")));
    return outputOf(stored[name], head, tail);
  };
  return { ...stored, stdout: stream("stdout"), stderr: stream("stderr") };
}

function compileOutputOf({ stdout, stderr }: PhaseResult): CompileOutput {
  const text = (bytes: Uint8Array) => Buffer.from(storable(bytes)).toString("base64");
  return { stdout: [text(stdout.head), text(stdout.tail)], stderr: [text(stderr.head), text(stderr.tail)] };
}

function counted<T extends Pick<PhaseResult, "stdout" | "stderr">>(result: T): Counted<T> {
  return { ...result, stdout: countsOf(result.stdout), stderr: countsOf(result.stderr) };
}

function countsOf({ seen, dropped }: OutputFacts): Counts {
  return { seen, dropped };
}

function outputOf(
  counts: Counts,
  head: Uint8Array | null | undefined,
  tail: Uint8Array | null | undefined,
): OutputFacts {
  return { ...counts, head: head ?? new Uint8Array(), tail: tail ?? new Uint8Array() };
}

function storable(bytes: Uint8Array): Uint8Array {
  const { text, count } = redact(new TextDecoder().decode(bytes));
  return count === 0 ? bytes : new TextEncoder().encode(text);
}
