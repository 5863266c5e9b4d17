import type { ChangeOutcome } from "./change-set.ts";
import type { Limits } from "./limits.ts";
import type { OutputFacts } from "./output-cap.ts";
import type { Outcome } from "./verdict.ts";

/** One of a program's two output streams. */
export type OutputStream = "stdout" | "stderr";

/** What a run used, as process 1 measured it. */
interface Usage {
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMemoryBytes: number;
}

/** Where the time of a run went, in milliseconds. */
export interface PhaseTimes {
  /** Waiting for a place. */
  readonly queue: number;
  readonly start: number;
  /** Its files on their way into the container. */
  readonly inject: number;
  readonly compile: number;
  readonly run: number;
  /** Taking over what it changed. */
  readonly collect: number;
}

/** A run whose time went nowhere yet. */
export const noTimes: PhaseTimes = { queue: 0, start: 0, inject: 0, compile: 0, run: 0, collect: 0 };

/** What one phase came to. */
export interface PhaseResult {
  /** Present where it ended by itself. */
  readonly exitCode?: number;
  readonly signal: string;
  readonly stdout: OutputFacts;
  readonly stderr: OutputFacts;
  readonly usage: Usage;
}

/** What a run came to; streams and usage are the program's. */
export interface ExecutionResult {
  readonly outcome: Outcome;
  readonly oomSeen: boolean;
  /** Present where the language is compiled and the compiler ran. */
  readonly compile?: PhaseResult;
  readonly stdout: OutputFacts;
  readonly stderr: OutputFacts;
  readonly usage: Usage;
  /** 0 where nothing was committed. */
  readonly workspaceVersionAfter: number;
  /** At most what listedChanges lists; none in a list of executions. */
  readonly changes: readonly ChangeOutcome[];
  /** Further changes that are counted only. */
  readonly changesOmitted?: number;
  readonly times?: PhaseTimes;
  /** Content address of the image that was there when the run began. */
  readonly imageDigest?: string;
  readonly policyVersion?: string;
}

/** One run of a program: what was asked, and at its end what it came to. */
export interface Execution {
  readonly id: string;
  readonly tenant: string;
  readonly callId: string;
  /** Empty where the run belongs to no task. */
  readonly taskId: string;
  readonly language: string;
  readonly image: string;
  readonly runtime: string;
  readonly limits: Limits;
  /** Empty where the run had a scratch directory. */
  readonly workspaceId: string;
  readonly workspaceVersionBefore: number;
  readonly acceptedAt: Date;
  readonly startedAt?: Date;
  readonly endedAt?: Date;
  /** Present when the run is over. */
  readonly result?: ExecutionResult;
}

const nothing: OutputFacts = { seen: 0, head: new Uint8Array(), tail: new Uint8Array(), dropped: 0 };

/** A result without a program: the run ended before one began, or nobody is left who knows. */
export function emptyResult(outcome: Outcome): ExecutionResult {
  return {
    outcome,
    oomSeen: false,
    stdout: nothing,
    stderr: nothing,
    usage: { wallMs: 0, cpuMs: 0, peakMemoryBytes: 0 },
    workspaceVersionAfter: 0,
    changes: [],
  };
}
