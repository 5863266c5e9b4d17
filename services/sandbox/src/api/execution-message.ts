import { create, toBinary } from "@bufbuild/protobuf";
import { type Duration, DurationSchema, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { headOf } from "@drover/kernel";
import {
  type Execution as ExecutionMessage,
  ExecutionSchema,
  ExecutionState,
  FileChange_Kind,
  FileChangeSchema,
  type Limits as LimitsMessage,
  LimitsSchema,
  type OutputFacts as OutputFactsMessage,
  Phase,
  type PhaseResult as PhaseResultMessage,
  PhaseResultSchema,
  type PhaseTimes as PhaseTimesMessage,
  PhaseTimesSchema,
  Verdict as VerdictMessage,
} from "@drover/proto/sandbox/v1/exec";
import type { ChangeOutcome } from "../domain/change-set.ts";
import type { Execution, ExecutionResult, PhaseResult, PhaseTimes } from "../domain/execution.ts";
import type { Limits } from "../domain/limits.ts";
import { listedChanges } from "../domain/listed-changes.ts";
import type { OutputFacts } from "../domain/output-cap.ts";
import type { Verdict } from "../domain/verdict.ts";
import { countsMessage, outputMessage, shareOf } from "./output-message.ts";

const verdicts: Readonly<Record<Verdict, VerdictMessage>> = {
  EXITED: VerdictMessage.EXITED,
  SIGNALED: VerdictMessage.SIGNALED,
  TIMEOUT_WALL: VerdictMessage.TIMEOUT_WALL,
  TIMEOUT_CPU: VerdictMessage.TIMEOUT_CPU,
  OOM: VerdictMessage.OOM,
  OUTPUT_LIMIT: VerdictMessage.OUTPUT_LIMIT,
  DISK_LIMIT: VerdictMessage.DISK_LIMIT,
  CANCELLED: VerdictMessage.CANCELLED,
  LAUNCH_FAILED: VerdictMessage.LAUNCH_FAILED,
  INFRA_LOST: VerdictMessage.INFRA_LOST,
};

const changeKinds: Readonly<Record<ChangeOutcome["kind"], FileChange_Kind>> = {
  ADDED: FileChange_Kind.ADDED,
  MODIFIED: FileChange_Kind.MODIFIED,
  DELETED: FileChange_Kind.DELETED,
  SKIPPED: FileChange_Kind.SKIPPED,
  CONFLICT: FileChange_Kind.CONFLICT,
};

/** Bytes of one execution, so that an answer which carries it is no larger than 4 MiB. */
const executionBytes = 4 * 1024 ** 2 - 16 * 1024;
/** Field numbers, lengths and counts of four streams, at the most. */
const streamsAround = 256;
const messageCharacters = 1000;

/** The execution as callers see it, at most {@link executionBytes}: of too much output the middle is left out. */
export function executionMessage(execution: Execution): ExecutionMessage {
  const message = bareMessage(execution);
  const { result } = execution;
  if (result === undefined) return message;
  const { compile } = result;
  const streams = [result.stdout, result.stderr, ...(compile === undefined ? [] : [compile.stdout, compile.stderr])];
  const most = shareOf(streams, executionBytes - streamsAround - toBinary(ExecutionSchema, message).length);
  addOutput(message, result, (facts) => outputMessage(facts, most));
  return message;
}

/** The execution in a list: output and changes are counted only. */
export function listedMessage(execution: Execution): ExecutionMessage {
  const message = outlineMessage(execution);
  message.changes = [];
  message.changesOmitted = message.changesTotal;
  return message;
}

/** The execution with counts of its output only, beside the output itself. */
export function outlineMessage(execution: Execution): ExecutionMessage {
  const message = bareMessage(execution);
  if (execution.result !== undefined) addOutput(message, execution.result, countsMessage);
  return message;
}

function addOutput(
  message: ExecutionMessage,
  { stdout, stderr, compile }: ExecutionResult,
  shown: (facts: OutputFacts) => OutputFactsMessage,
): void {
  message.stdout = shown(stdout);
  message.stderr = shown(stderr);
  if (compile === undefined || message.compile === undefined) return;
  message.compile.stdout = shown(compile.stdout);
  message.compile.stderr = shown(compile.stderr);
}

function bareMessage(execution: Execution): ExecutionMessage {
  const message = create(ExecutionSchema, {
    id: execution.id,
    callId: execution.callId,
    taskId: execution.taskId,
    language: execution.language,
    state: stateOf(execution),
    appliedLimits: limitsMessage(execution.limits),
    image: execution.image,
    runtime: execution.runtime,
    workspaceId: execution.workspaceId,
    workspaceVersionBefore: BigInt(execution.workspaceVersionBefore),
    acceptedAt: timestampFromDate(execution.acceptedAt),
  });
  if (execution.startedAt !== undefined) message.startedAt = timestampFromDate(execution.startedAt);
  if (execution.endedAt !== undefined) message.endedAt = timestampFromDate(execution.endedAt);
  addResult(message, execution);
  return message;
}

/** Limits in the proto's units. */
export function limitsMessage(limits: Limits): LimitsMessage {
  return create(LimitsSchema, {
    wallTime: durationOf(limits.wallMs),
    memoryBytes: BigInt(limits.memoryBytes),
    cpuMillis: limits.cpuMillis,
    processes: limits.processes,
    outputBytes: BigInt(limits.outputBytes),
    compileTime: durationOf(limits.compileMs ?? 0),
    cpuTime: durationOf(limits.cpuTimeMs ?? 0),
  });
}

function addResult(message: ExecutionMessage, { result }: Execution): void {
  if (result === undefined) return;
  const { outcome, usage } = result;
  message.verdict = verdicts[outcome.verdict];
  if (outcome.exitCode !== undefined) message.exitCode = outcome.exitCode;
  message.signal = outcome.signal;
  message.killedBy = outcome.killedBy;
  message.message = headOf(outcome.message, messageCharacters);
  message.phase = outcome.phase === "compile" ? Phase.COMPILE : Phase.RUN;
  message.imageDigest = result.imageDigest ?? "";
  message.policyVersion = result.policyVersion ?? "";
  if (result.times !== undefined) message.phaseTimes = timesMessage(result.times);
  if (result.compile !== undefined) message.compile = phaseMessage(result.compile);
  message.oomSeen = result.oomSeen;
  message.wallTime = durationOf(usage.wallMs);
  message.cpuTime = durationOf(usage.cpuMs);
  message.peakMemoryBytes = BigInt(Math.round(usage.peakMemoryBytes));
  message.workspaceVersionAfter = BigInt(result.workspaceVersionAfter);
  const { changes, changesOmitted } = listedChanges(result.changes, result.changesOmitted);
  message.changesTotal = changes.length + changesOmitted;
  message.changesOmitted = changesOmitted;
  message.changes = changes.map(({ path, kind, size, reason }) =>
    create(FileChangeSchema, { path, kind: changeKinds[kind], sizeBytes: BigInt(size), skippedReason: reason }),
  );
}

function timesMessage({ queue, start, inject, compile, run, collect }: PhaseTimes): PhaseTimesMessage {
  return create(PhaseTimesSchema, {
    queue: durationOf(queue),
    start: durationOf(start),
    inject: durationOf(inject),
    compile: durationOf(compile),
    run: durationOf(run),
    collect: durationOf(collect),
  });
}

function phaseMessage({ exitCode, signal, usage }: PhaseResult): PhaseResultMessage {
  return create(PhaseResultSchema, {
    ...(exitCode === undefined ? {} : { exitCode }),
    signal,
    wallTime: durationOf(usage.wallMs),
    cpuTime: durationOf(usage.cpuMs),
    peakMemoryBytes: BigInt(Math.round(usage.peakMemoryBytes)),
  });
}

function stateOf(execution: Execution): ExecutionState {
  if (execution.result !== undefined) return ExecutionState.ENDED;
  return execution.startedAt === undefined ? ExecutionState.ACCEPTED : ExecutionState.RUNNING;
}

function durationOf(ms: number): Duration {
  const seconds = Math.floor(ms / 1000);
  return create(DurationSchema, { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1e6) % 1e9 });
}
