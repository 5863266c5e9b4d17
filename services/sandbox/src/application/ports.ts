import type { Capability } from "../domain/capability.ts";
import type { Change, ChangeOutcome, FileEntry, Manifest } from "../domain/change-set.ts";
import type { Execution, OutputStream } from "../domain/execution.ts";
import type { Limits } from "../domain/limits.ts";
import type { Phase } from "../domain/verdict.ts";
import type { SessionFace } from "./session-face.ts";

export type { CommandRequest, RunningCommand, SessionFace } from "./session-face.ts";

/** A file on its way into a container. */
export interface ContainerFile {
  readonly path: string;
  readonly content: Uint8Array;
  readonly executable: boolean;
  /** The program itself: never reported as a change. */
  readonly ephemeral: boolean;
}

/** What to start. */
export interface ContainerRequest {
  readonly runId: string;
  /** Empty where the run is no task's. */
  readonly taskId: string;
  readonly tenant: string;
  readonly image: string;
  readonly limits: Limits;
  /** After this many milliseconds anybody may remove the container, whoever made it. */
  readonly lifetimeMs: number;
  /** Told once where the container came from, by a backend that keeps some ready. */
  readonly onAnswer?: (answer: PoolAnswer) => void;
}

/** A program to run in a started container. */
export interface ProgramRequest {
  /** Absent for the program itself. */
  readonly phase?: Phase;
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly stdin: Uint8Array;
  /** CPU time of all its processes together, after which process 1 kills them; absent for no end. */
  readonly cpuTimeMs?: number;
  onStarted(): void;
  /** Called for every piece of output in order; must not wait, and must copy what it keeps. */
  onOutput(stream: OutputStream, bytes: Uint8Array): void;
}

/** What process 1 reports when a program is over and nothing of it is left. */
export interface ProgramReport {
  readonly exit?: { readonly code: number } | { readonly signal: number };
  readonly launchError?: string;
  /** It was killed because its CPU time was used up. */
  readonly cpuExceeded?: boolean;
  /** /workspace or /tmp had no room left when it ended. */
  readonly diskFull?: boolean;
  /** What the kernel killed in its container for memory while it ran, whoever's it was. */
  readonly oomKills: number;
  /** Another command ran meanwhile. */
  readonly beside?: boolean;
  readonly wallMs: number;
  readonly cpuMs: number;
  readonly peakMemoryBytes: number;
}

/** One entry of what a program changed. */
export type CollectedChange =
  | { readonly kind: "put"; readonly path: string; readonly content: Uint8Array; readonly executable: boolean }
  | { readonly kind: "delete"; readonly path: string }
  | { readonly kind: "skip"; readonly path: string; readonly reason: string };

/** How much a program may change. */
export interface CollectLimits {
  readonly maxFiles: number;
  readonly maxBytes: number;
}

/**
 * One started container; used for one run. When it is lost, every pending call rejects with
 * UNAVAILABLE and reason CONTAINER_LOST. Disposing removes it, running or not, and proves that it is
 * gone; it rejects where that could not be proven.
 */
export interface Container extends AsyncDisposable {
  readonly id: string;
  /** Folder of the working files as a program's command line names it, e.g. `/workspace`; what a program prints never shows another one. */
  readonly root: string;
  /** Folder for what a compiler makes, which is no part of the workspace; `/tmp` where it is absent. */
  readonly build?: string;
  /** False once process 1 or the connection to it is known to be gone. */
  readonly alive: boolean;
  putFile(file: ContainerFile): Promise<void>;
  /** Resolves when the program and all it left behind are gone. */
  run(program: ProgramRequest): Promise<ProgramReport>;
  /** Asks the program to end (SIGTERM). */
  terminate(): void;
  /** Kills the container and resolves when it has exited. Killing again is no error. */
  kill(): Promise<void>;
  /** Reports changes one by one; the next one waits until `onChange` has settled. */
  collect(limits: CollectLimits, onChange: (change: CollectedChange) => Promise<void>): Promise<void>;
  /** Commands beside each other; absent where the backend cannot. */
  readonly session?: SessionFace;
  /** The engine's own word on memory: it saw the kernel kill something in this container. */
  sawOutOfMemory(): Promise<boolean>;
}

/** Whether containers can be started now. */
export interface EngineHealth {
  readonly ready: boolean;
  readonly problem: string;
  readonly advice: string;
  readonly version: string;
  /** The isolation level in force, in words; from {@link GuardedBackend}. */
  readonly isolation?: string;
}

/** A container found by its labels. */
export interface FoundContainer {
  readonly id: string;
  readonly runId: string;
  readonly owner: string;
  readonly expiresAt: Date;
  /** True where all in it has ended and only the container is left. */
  readonly exited?: boolean;
}

/**
 * Where programs run: starts containers, or what stands for them. UNAVAILABLE (reason
 * ENGINE_UNAVAILABLE) where the engine does not answer. `test/exec-backend.contract.ts` is the
 * contract as a test; docs/exec-backends.md says how to add one.
 */
export interface ExecBackend {
  /** Its name in messages and records, e.g. `docker`. */
  readonly name: string;
  /** What it can do beyond the contract; what is missing here is refused as UNSUPPORTED where it is asked for. */
  readonly capabilities: ReadonlySet<Capability>;
  /** The runtime that containers are started with, e.g. `runc`. */
  readonly runtime: string;
  /**
   * Resolves when a container of that image could be started, with the id of what its name means now;
   * FAILED_PRECONDITION where it is missing.
   */
  check(image: string, signal: AbortSignal): Promise<string>;
  /** Resolves when process 1 is ready for files. An abort leaves no container behind. */
  start(request: ContainerRequest, signal: AbortSignal): Promise<Container>;
  health(signal: AbortSignal): Promise<EngineHealth>;
  /** Every container that any instance of this service made. */
  found(signal: AbortSignal): Promise<readonly FoundContainer[]>;
  /** Removes a container and proves it; one that is gone already is no error. */
  remove(id: string): Promise<void>;
}

/** What came of accepting a call id. */
export type Acceptance =
  | { readonly kind: "new" }
  | { readonly kind: "existing"; readonly execution: Execution; readonly sameBody: boolean }
  /** The call's task was cancelled after the call was made; the execution is recorded as cancelled. */
  | { readonly kind: "cancelled"; readonly execution: Execution };

/** Where executions are recorded. Every call is limited to its tenant's rows. */
export interface ExecutionStore {
  accept(execution: Execution, bodyHash: string, callMadeAt: number | undefined): Promise<Acceptance>;
  /** Takes an acceptance back: nothing ran and the same call may come again. */
  withdraw(tenant: string, id: string): Promise<void>;
  /** `version` is what it sees of its workspace, where that was not known when it was accepted. */
  started(tenant: string, id: string, at: Date, version?: number): Promise<void>;
  /** Records which container it runs in, also after this process. */
  gotContainer(tenant: string, id: string, containerId: string): Promise<void>;
  /** Records the end. An execution that has ended keeps its first result. */
  finish(execution: Execution): Promise<void>;
  find(tenant: string, key: { readonly id: string } | { readonly callId: string }): Promise<Execution | undefined>;
  /** Newest first, without output; changes are counted only. `after` is the id of the last one seen. */
  list(
    tenant: string,
    filter: { readonly taskId: string; readonly after: string | undefined; readonly limit: number },
  ): Promise<readonly Execution[]>;
  /** Remembers that a task was cancelled now. */
  rememberCancel(tenant: string, taskId: string): Promise<void>;
}

/** The jobs of an instance over all tenants. */
export interface Ledger {
  /** Says that this instance lives, so that its running executions stay its own. */
  renew(): Promise<void>;
  /** Ends the executions of dead instances as lost; gives their number. */
  loseOrphans(): Promise<number>;
  /** Ids of those containers whose run, by their label or by its record, is recorded here and not running any more. */
  over(containers: readonly FoundContainer[]): Promise<ReadonlySet<string>>;
  /** Removes what is older than the retention: executions, cancels, contents that no file names. */
  expire(): Promise<void>;
}

/** A workspace at its current version. */
export interface Workspace {
  readonly id: string;
  readonly version: number;
  readonly sizeBytes: number;
  readonly fileCount: number;
  readonly createdAt: Date;
}

/** Limits of one workspace. */
export interface WorkspaceLimits {
  readonly maxBytes: number;
  /** Of one file that a run changed; those of a call are limited by the message. */
  readonly maxFileBytes: number;
  readonly maxFiles: number;
}

/** What a commit is made against and how it is told apart from another one. */
export interface CommitOptions {
  /** Paths written since this version are conflicts. */
  readonly since: number;
  /** Of some paths a later version, on which the change to them was made. */
  readonly seen?: ReadonlyMap<string, number>;
  /** Refuse (ABORTED) instead of merging when the workspace has another version than `since`. */
  readonly exact: boolean;
  /** Protects against a second commit; empty for none. */
  readonly requestId: string;
  readonly bodyHash: string;
  readonly limits: WorkspaceLimits;
  /**
   * The run that made the changes, with its end: recorded in the same transaction, so that a run
   * called lost has changed nothing. ABORTED (reason RUN_OVER), with nothing written, where its end
   * was recorded before.
   */
  readonly ends?: (commit: Commit) => Execution;
  /** A session that must still be running and this instance's; else ABORTED (reason RUN_OVER) with nothing written. */
  readonly under?: SessionFence;
}

/** A session: its execution, and the epoch in which this instance took its task. */
export type SessionFence = { readonly id: string; readonly taskId: string; readonly epoch: number };

/** What a commit came to. */
export interface Commit {
  readonly workspace: Workspace;
  readonly outcomes: readonly ChangeOutcome[];
  /** The same commit was made before. */
  readonly repeated: boolean;
}

/** Where workspaces are kept: a list of change sets each, contents by hash. NOT_FOUND for a stranger's. */
export interface WorkspaceStore {
  create(tenant: string, id: string, requestId: string, bodyHash: string): Promise<Workspace>;
  /** The workspace with all files of its current version. */
  read(tenant: string, id: string): Promise<{ readonly workspace: Workspace; readonly files: Manifest }>;
  /** Contents of files in their order, read a few at a time. */
  contents(tenant: string, files: readonly FileEntry[]): AsyncIterable<{ file: FileEntry; content: Uint8Array }>;
  /** Keeps a content and gives its hash. */
  keep(tenant: string, content: Uint8Array): Promise<string>;
  /** Writes one change set, all or nothing. RESOURCE_EXHAUSTED (reason WORKSPACE_FULL) over the limits. */
  commit(tenant: string, id: string, changes: readonly Change[], options: CommitOptions): Promise<Commit>;
  /** Deleting again is no error. */
  delete(tenant: string, id: string): Promise<void>;
}

/** Compiles a pattern whose matching takes linear time; throws an Error that says what is wrong with it. */
export type PatternCompiler = (pattern: string, ignoreCase: boolean) => (line: string) => boolean;

/** SHA-256 in lower-case hex. */
export type Digest = (bytes: Uint8Array | string) => string;

/** Where the service's numbers go. */
export interface RunMetrics {
  ended(language: string, verdict: string, seconds: number): void;
  /** One phase of one run took so long. */
  phase(language: string, phase: string, seconds: number): void;
  running(change: 1 | -1): void;
}

/** One was ready, one was missing, or the request is of a kind that is not kept ready. */
export type PoolAnswer = "hit" | "miss" | "bypass";

/** Where the numbers of the containers that are kept ready go. */
export interface PoolMetrics {
  /** A container was asked for. */
  asked(answer: PoolAnswer): void;
  /** How many are ready; asked whenever somebody looks. */
  watch(ready: () => number): void;
}

/** Where the service says what an operator should know. */
export interface Log {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
