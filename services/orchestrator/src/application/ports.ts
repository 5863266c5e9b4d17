import type { Message, ToolSpec } from "@drover/model";
import type { TraceContext } from "@drover/tracing";
import type { Agent, AgentSnapshot, Verifier } from "../domain/agent.ts";
import type { LoggedMessage } from "../domain/conversation.ts";
import type { StepBody, TaskLog } from "../domain/step.ts";
import type { ConversationPolicy } from "../domain/submission.ts";
import type {
  Task,
  TaskBudgets,
  TaskMode,
  TaskUsage,
  VerificationFinding,
  VerificationReport,
} from "../domain/task.ts";
import type { TaskEvent, TaskEventBody } from "../domain/task-event.ts";
import type { TaskState } from "../domain/task-state.ts";
import type { ToolCallOutcome } from "../domain/tool-call-state.ts";

/** A task to be recorded. */
export interface NewTask {
  readonly tenant: string;
  readonly id: string;
  readonly mode: TaskMode;
  readonly prompt: string;
  readonly model: string;
  readonly collection: string;
  readonly conversationId: string;
  readonly workspaceId: string | undefined;
  readonly traceId: string;
  readonly createdBy: string;
  readonly maxRounds: number;
  readonly agent: string;
  readonly agentBody: Readonly<Record<string, unknown>>;
  readonly priority: number;
  readonly rerunOf: string | undefined;
  readonly budgets: TaskBudgets;
  readonly conversationPolicy: ConversationPolicy;
}

/** What becomes of a submission. */
export type SubmitOutcome =
  | { readonly outcome: "created"; readonly taskId: string; readonly interrupted: readonly string[] }
  | { readonly outcome: "existing" | "conflict"; readonly taskId: string }
  /** Too many tasks of the tenant wait. */
  | { readonly outcome: "full" }
  /** The conversation has the task `taskId`, which has not ended. */
  | { readonly outcome: "busy"; readonly taskId: string };

/** A task that a worker holds, and the epoch that its writes must name. */
export interface Claim {
  readonly tenant: string;
  readonly taskId: string;
  readonly epoch: number;
}

/** A call that the model asked for, to be recorded before anything happens. */
export interface Intent {
  readonly callId: string;
  readonly stepSeq: number;
  readonly ordinal: number;
  readonly providerCallId: string;
  readonly tool: string;
  readonly arguments: string;
  /** SHA-256 of `arguments`, lower-case hex. */
  readonly argumentsHash: string;
  readonly argumentsPreview: string;
  readonly policyEffect: "allow" | "ask" | "deny";
  /** Empty where no rule fits. */
  readonly policyRule: string;
  readonly allowedCommands: readonly string[];
  /** Present where somebody must approve; the approval is recorded with the call. */
  readonly approval?: { readonly id: string };
}

/** An approval to be recorded in the commit that makes its call wait. */
export interface NewApproval {
  readonly id: string;
  readonly callId: string;
  readonly tool: string;
  readonly argumentsPreview: string;
  readonly argumentsHash: string;
  /** Empty where the outcome of a call is unknown. */
  readonly rule: string;
  readonly reason: string;
  readonly approverNotRequester: boolean;
  readonly expiresMs: number;
}

/** How a call ended, as it is recorded. */
export interface CallResult {
  readonly callId: string;
  readonly state: ToolCallOutcome;
  readonly shown: string;
  readonly summary: string;
  readonly errorCode: string;
  readonly retryable: boolean;
  readonly artifacts: readonly string[];
  readonly resultCharacters: number;
  readonly shownCharacters: number;
  readonly spillPointer: string;
  readonly durationMs: number;
}

/** Another state, and why. For CANCELLED the database takes actor and reason from the recorded wish. */
interface StateChange {
  readonly to: TaskState;
  readonly actor: string;
  readonly reason: string;
  /** What brought it about, snake_case. */
  readonly input: string;
}

/** Everything that one commit writes; absent parts stay as they are. */
export interface TaskChange {
  readonly state?: StateChange;
  readonly round?: number;
  readonly steps?: readonly { readonly seq: number; readonly round: number; readonly body: StepBody }[];
  readonly intents?: readonly Intent[];
  /** Version of the rules by which the intents were judged. */
  readonly rules?: number;
  /** Calls that are recorded already and must now wait for a decision. */
  readonly awaiting?: readonly { readonly callId: string; readonly id: string }[];
  readonly approvals?: readonly NewApproval[];
  readonly dispatched?: readonly string[];
  /** How many of `dispatched` are sent for the first time. */
  readonly toolCalls?: number;
  readonly results?: readonly CallResult[];
  readonly events?: readonly TaskEventBody[];
  readonly usage?: TaskUsage;
  readonly workspaceId?: string | undefined;
  readonly answer?: string;
  readonly failureReason?: string;
  readonly failureMessage?: string;
  readonly verification?: VerificationReport;
  readonly reworks?: number;
}

/** What became of a commit. All but `committed` wrote nothing. */
export type CommitOutcome =
  | {
      readonly outcome: "committed";
      readonly version: number;
      readonly lastSequence: number;
      readonly cancelRequested: boolean;
      readonly wallMsUsed: number;
    }
  /** Somebody else holds the task, or it has ended. */
  | { readonly outcome: "fenced" }
  /** A success that came after a cancel. */
  | { readonly outcome: "cancelled" }
  /** The tenant's rules are not those of the version that the change names. */
  | { readonly outcome: "rules_changed" };

/** The record of tasks. Every method may fail with UNAVAILABLE when the database is away. */
export interface TaskStore {
  submit(
    task: NewTask,
    request: { readonly method: "SubmitTask" | "RerunTask"; readonly id: string; readonly bodyHash: string },
    maxQueued: number,
  ): Promise<SubmitOutcome>;
  get(tenant: string, taskId: string): Promise<Task | undefined>;
  /** Newest first; `before` is the id of the last task of the page before. */
  list(tenant: string, states: readonly TaskState[], limit: number, before: string | undefined): Promise<Task[]>;
  /** Events with a greater sequence than `after`, in order. */
  events(tenant: string, taskId: string, after: number, limit: number): Promise<TaskEvent[]>;
  /**
   * Records the wish; `cancelled` where nobody was at work, so that the task has ended with it; `stale` where it has
   * another version than `expectedVersion` (0 is any).
   */
  cancel(
    tenant: string,
    taskId: string,
    wish: { readonly actor: string; readonly reason: string; readonly expectedVersion: number },
  ): Promise<{
    readonly outcome: "cancelled" | "requested" | "ended" | "stale" | "not_found";
    readonly lastSequence: number;
  }>;
  /**
   * Claims up to `limit` tasks of all tenants that are due and held by nobody; tenants take turns, none has more than
   * `perTenant` running. One that was claimed `maxIdle` times in a row without a commit ends as FAILED, DEAD_LETTER.
   */
  claim(
    owner: string,
    options: { readonly limit: number; readonly ttlMs: number; readonly perTenant: number; readonly maxIdle: number },
  ): Promise<Claim[]>;
  /** Lets go of what an earlier process of the same name still holds. Returns how many. */
  reclaim(owner: string): Promise<number>;
  /** Undefined: the claim is lost. */
  renew(
    claim: Claim,
    ttlMs: number,
  ): Promise<{ readonly cancelRequested: boolean; readonly wallMsUsed: number } | undefined>;
  /** Gives the task back, to be claimed after `delayMs`. */
  release(claim: Claim, delayMs: number): Promise<void>;
  load(claim: Claim): Promise<{ readonly task: Task; readonly log: TaskLog } | undefined>;
  commit(claim: Claim, version: number, change: TaskChange): Promise<CommitOutcome>;
}

/** The record of agents, by tenant. Every method may fail with UNAVAILABLE when the database is away. */
export interface AgentStore {
  /** Creates or replaces; undefined where the agent has another version than `expectedVersion` (0 is any). */
  put(
    tenant: string,
    agent: {
      readonly name: string;
      readonly body: AgentSnapshot;
      readonly expectedVersion: number;
      readonly updatedBy: string;
    },
  ): Promise<Agent | undefined>;
  get(tenant: string, name: string): Promise<Agent | undefined>;
  /** By name, after `after`. */
  list(tenant: string, limit: number, after: string): Promise<readonly Agent[]>;
  delete(tenant: string, name: string): Promise<void>;
}

/** The checks of an answer that need more than the record. */
export interface AnswerChecks {
  rules(rules: Verifier & { readonly kind: "rules" }, answer: string): readonly VerificationFinding[];
  jsonSchema(schema: string, answer: string): readonly VerificationFinding[];
  /**
   * Runs a program in the sandbox with the answer on standard input; again with the same `key` is the same run. Throws
   * where it cannot be run now; UNAVAILABLE passes.
   */
  code(
    scope: CallScope,
    run: {
      readonly key: string;
      readonly language: string;
      readonly code: string;
      readonly answer: string;
      readonly workspaceId: string | undefined;
    },
    signal: AbortSignal,
  ): Promise<readonly VerificationFinding[]>;
}

/** A piece of the model's text as it comes. */
export interface Delta {
  readonly taskId: string;
  readonly step: number;
  readonly channel: "text" | "reasoning";
  readonly offset: number;
  readonly text: string;
}

/** Signals between replicas and to other services; losing one loses no truth. No method throws or waits. */
export interface TaskSignals {
  ready(taskId: string): void;
  committed(tenant: string, taskId: string, sequence: number): void;
  delta(tenant: string, delta: Delta): void;
  cancelled(tenant: string, taskId: string, actor: string, reason: string): void;
  /** Calls `onHint` at each commit of the task and `onDelta` at each delta, until disposed of. */
  follow(
    tenant: string,
    taskId: string,
    listener: { readonly onHint: (sequence: number) => void; readonly onDelta: (delta: Delta) => void },
  ): Disposable;
}

/** On whose behalf, and as part of what, another service is called. */
export interface CallScope {
  readonly tenant: string;
  readonly subject: string;
  readonly taskId: string;
  readonly trace: TraceContext;
}

/** The memory service, as the loop needs it. Failures are DroverErrors; UNAVAILABLE passes. */
export interface ConversationMemory {
  /** Appends `messages` (again is the same as once) and answers with what to send to the model. */
  buildContext(
    scope: CallScope,
    request: {
      readonly conversationId: string;
      readonly append: readonly LoggedMessage[];
      readonly systemPrompt: string;
      readonly tools: readonly ToolSpec[];
    },
    signal: AbortSignal,
  ): Promise<readonly Message[]>;
  append(
    scope: CallScope,
    conversationId: string,
    messages: readonly LoggedMessage[],
    signal: AbortSignal,
  ): Promise<void>;
  /** Stores a whole text under its call and returns its pointer; again gives the same pointer. */
  spill(
    scope: CallScope,
    request: { readonly conversationId: string; readonly callId: string; readonly text: string },
    signal: AbortSignal,
  ): Promise<string>;
}

/** Makes the workspace of a task; again gives the same one. */
export interface Workspaces {
  create(scope: CallScope, signal: AbortSignal): Promise<string>;
  /** Ends the containers in which the task's commands ran; the files stay. */
  release(scope: CallScope, signal: AbortSignal): Promise<void>;
}
