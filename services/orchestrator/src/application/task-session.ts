import { DroverError, headOf } from "@drover/kernel";
import { redact } from "@drover/redaction";
import { type Attributes, attr, type Span, type Tracer } from "@drover/tracing";
import { approvalLog } from "../domain/approval.ts";
import type { Step, TaskLog, ToolCallRecord } from "../domain/step.ts";
import { rootSpanId, sumUsage, type Task, type TaskUsage } from "../domain/task.ts";
import { isTerminal, type TaskState } from "../domain/task-state.ts";
import { beginWait, endWait } from "./approval-wait.ts";
import type { CallResult, CallScope, Claim, CommitOutcome, TaskChange, TaskSignals, TaskStore } from "./ports.ts";
import type { RunControl } from "./run-control.ts";

/** What a session needs. */
export interface SessionParts {
  readonly store: Pick<TaskStore, "commit">;
  readonly signals: Pick<TaskSignals, "committed">;
  readonly tracer: Tracer;
}

/**
 * One worker's hold on one task: what is recorded of it, kept current through {@link commit}, and the
 * spans that are open. Everything here can be rebuilt from the record by the next owner.
 */
export class TaskSession {
  readonly claim: Claim;
  readonly control: RunControl;
  readonly root: Span;
  task: Task;
  log: TaskLog;
  /** Newest step whose messages the memory service has. */
  fedThrough = 0;
  /** Results that are there, but not committed yet; kept if a cancel comes in between. */
  readonly unrecorded = new Map<string, CallResult>();
  readonly #parts: SessionParts;
  #round: Span | undefined;

  constructor(
    parts: SessionParts,
    claim: Claim,
    control: RunControl,
    loaded: { readonly task: Task; readonly log: TaskLog },
  ) {
    this.#parts = parts;
    this.claim = claim;
    this.control = control;
    this.task = loaded.task;
    this.log = loaded.log;
    this.root = startRoot(parts.tracer, loaded.task);
    control.limitWall(loaded.task.budgets.wallMs);
  }

  /** The newest step's number; the next one is one more. */
  get lastStep(): number {
    return this.log.steps.at(-1)?.seq ?? 0;
  }

  /** The span of the round at hand, begun where there is none. */
  roundSpan(round: number): Span {
    this.#round ??= this.#parts.tracer.start({
      tenant: this.task.tenant,
      name: `round ${round}`,
      kind: "round",
      parent: this.root.context,
      taskId: this.task.id,
      attributes: { [attr.round]: round },
    });
    return this.#round;
  }

  endRound(error?: string): void {
    this.#round?.end(error === undefined ? {} : { error });
    this.#round = undefined;
  }

  /** On whose behalf other services are called, as children of `span`. */
  scope(span: Span): CallScope {
    return { tenant: this.task.tenant, subject: this.task.createdBy, taskId: this.task.id, trace: span.context };
  }

  /**
   * Writes a change and takes it over here, unless a cancel has won or its rules are no longer the tenant's. Throws
   * ABORTED with reason LEASE_LOST where the task is held by somebody else, and also where the outcome is not known: the
   * next owner then reads what really happened.
   */
  async commit(change: TaskChange): Promise<Exclude<CommitOutcome["outcome"], "fenced">> {
    if (this.control.stopped === "LEASE_LOST") throw leaseLost();
    const outcome = await this.#parts.store.commit(this.claim, this.task.version, change).catch((cause: unknown) => {
      if (cause instanceof DroverError) throw leaseLost(cause);
      throw cause;
    });
    if (outcome.outcome === "fenced") throw leaseLost();
    if (outcome.outcome === "cancelled") this.task = { ...this.task, cancelRequested: true };
    if (outcome.outcome !== "committed") return outcome.outcome;
    const from = this.task.state;
    this.task = changed(this.task, change, outcome);
    if (change.state !== undefined) tellState(this.root, change.state, from);
    const waiting = this.log.calls.filter(({ state }) => state === "AWAITING");
    this.log = extended(this.log, change);
    this.#parts.signals.committed(this.task.tenant, this.task.id, outcome.lastSequence);
    for (const { id, callId, tool, rule, reason } of change.approvals ?? []) {
      const asks = rule === "" ? reason : `the policy ${rule}`;
      this.root.event("approval", { text: `${tool} waits for somebody's decision: ${asks}.` });
      beginWait(this.#parts.tracer, this.#waitOf({ callId, tool }, id), asks);
    }
    if (isTerminal(this.task.state)) this.#endWaits(waiting, change.state?.actor || this.task.cancelActor);
    if (change.approvals !== undefined || (waiting.length > 0 && isTerminal(this.task.state))) {
      // How far the tenant's log of approvals goes is looked up by who watches it.
      this.#parts.signals.committed(this.task.tenant, approvalLog, 0);
    }
    if (outcome.cancelRequested && !isTerminal(this.task.state)) {
      this.task = { ...this.task, cancelRequested: true };
      this.control.cancel();
    }
    return outcome.outcome;
  }

  /** What was asked for is withdrawn with the task's end. */
  #endWaits(waiting: readonly ToolCallRecord[], actor: string): void {
    for (const call of waiting) {
      if (call.approvalId === undefined) continue;
      const wait = this.#waitOf(call, call.approvalId);
      endWait(this.#parts.tracer, wait, { decision: "withdrawn", actor, comment: "" });
    }
  }

  #waitOf({ callId, tool }: Pick<ToolCallRecord, "callId" | "tool">, approvalId: string) {
    const { tenant, id: taskId, traceId } = this.task;
    return { tenant, taskId, traceId, approvalId, callId, tool };
  }

  /** Ends the spans with what is recorded, or leaves them to the next owner. */
  closeSpans(): void {
    const { task } = this;
    const well = task.state === "SUCCEEDED" || task.state === "WAITING_APPROVAL";
    const error = well ? undefined : task.failureMessage || "interrupted";
    this.endRound(error);
    if (isTerminal(task.state)) endRoot(this.root, task);
    else this.root.release();
  }
}

/** Tells the trace of a transition, so that who watches it knows the task's state before its span ends. */
export function tellState(root: Span, state: NonNullable<TaskChange["state"]>, from: TaskState | undefined): void {
  root.event("state_changed", {
    attributes: {
      [attr.taskStateFrom]: from,
      [attr.taskState]: state.to,
      [attr.actor]: state.actor === "" ? undefined : state.actor,
      [attr.reason]: state.reason === "" ? undefined : state.reason,
    },
  });
}

/** Ends the span of a task that has reached its end. */
export function endRoot(root: Span, task: Task): void {
  root.payload("output", task.answer === "" ? task.failureMessage : task.answer);
  root.end({
    error: task.state === "SUCCEEDED" ? undefined : `${task.failureReason}: ${task.failureMessage}`,
    attributes: { [attr.taskState]: task.state, [attr.round]: task.round, ...usageAttributes(task.usage) },
  });
}

/** Begins, or takes up again, the span that stands for a whole task. */
export function startRoot(tracer: Tracer, task: Task): Span {
  const root = tracer.start({
    tenant: task.tenant,
    name: titleOf(task.prompt),
    kind: "task",
    taskId: task.id,
    identity: { traceId: task.traceId, spanId: rootSpanId(task.id) },
    startedAt: task.createdAt,
    attributes: {
      [attr.taskId]: task.id,
      [attr.mode]: task.mode,
      [attr.conversationId]: task.conversationId,
      [attr.requestModel]: task.model,
      [attr.maxRounds]: task.maxRounds,
    },
  });
  root.payload("input", task.prompt);
  return root;
}

/** The first words of a prompt, as a trace is called by; secrets are masked. */
function titleOf(prompt: string): string {
  const firstLine = redact(prompt).text.trim().split("\n", 1)[0] ?? "";
  return headOf(firstLine, 120) || "task";
}

/** Tokens and cost as attributes of a span. */
export function usageAttributes(usage: TaskUsage): Attributes {
  return {
    [attr.inputTokens]: usage.inputTokens,
    [attr.outputTokens]: usage.outputTokens,
    [attr.cachedInputTokens]: usage.cachedInputTokens,
    [attr.reasoningTokens]: usage.reasoningTokens,
    [attr.costNanoUsd]: usage.costNanoUsd ?? undefined,
  };
}

/** ABORTED: what is at hand cannot be written any more by this worker. */
export function leaseLost(cause?: unknown): DroverError {
  return new DroverError("ABORTED", "The task is no longer held by this worker.", { reason: "LEASE_LOST", cause });
}

function changed(task: Task, change: TaskChange, written: CommitOutcome & { readonly outcome: "committed" }): Task {
  const cancelled = change.state?.to === "CANCELLED";
  return {
    ...task,
    version: written.version,
    lastSequence: written.lastSequence,
    wallMsUsed: Math.max(task.wallMsUsed, written.wallMsUsed),
    toolCallsUsed: task.toolCallsUsed + (change.toolCalls ?? 0),
    verification: change.verification ?? task.verification,
    reworks: change.reworks ?? task.reworks,
    state: change.state?.to ?? task.state,
    round: change.round ?? task.round,
    workspaceId: change.workspaceId ?? task.workspaceId,
    answer: change.answer ?? task.answer,
    failureReason: cancelled ? "CANCELLED" : (change.failureReason ?? task.failureReason),
    failureMessage: cancelled ? "The task was cancelled." : (change.failureMessage ?? task.failureMessage),
    usage: change.usage === undefined ? task.usage : sumUsage(task.usage, change.usage),
  };
}

function extended(log: TaskLog, change: TaskChange): TaskLog {
  const steps: readonly Step[] = [...log.steps, ...(change.steps ?? [])];
  const dispatched = new Set(change.dispatched);
  const awaiting = new Map(change.awaiting?.map(({ callId, id }) => [callId, id]));
  const results = new Map(change.results?.map((result) => [result.callId, result]));
  const known = log.calls.map((call): ToolCallRecord => {
    const result = results.get(call.callId);
    if (result !== undefined) return { ...call, ...result };
    const approvalId = awaiting.get(call.callId);
    if (approvalId !== undefined) return { ...call, state: "AWAITING", approvalId };
    return dispatched.has(call.callId) ? { ...call, state: "DISPATCHED" } : call;
  });
  const proposed = (change.intents ?? []).map((intent): ToolCallRecord => {
    const { approval, ...call } = intent;
    const asked =
      approval === undefined
        ? ({ state: "PROPOSED" } as const)
        : ({ state: "AWAITING", approvalId: approval.id } as const);
    return { ...call, ...asked, shown: "", spillPointer: "", resultCharacters: 0, ...results.get(intent.callId) };
  });
  return { steps, calls: [...known, ...proposed] };
}
