import { DroverError } from "@drover/kernel";
import { attr } from "@drover/tracing";
import { exhaustedReason, exhaustedText } from "../domain/budget.ts";
import { type NextAction, nextAction } from "../domain/next-action.ts";
import { isTerminal } from "../domain/task-state.ts";
import { type AskParts, askModel } from "./ask-model.ts";
import { breakLoop } from "./break-loop.ts";
import { budgetNotice } from "./budget-notice.ts";
import type { VerifyParts } from "./checked.ts";
import { cancelTask, type EndParts, failTask, sayFarewell, settleCalls, succeedTask } from "./end-task.ts";
import type { Claim, TaskSignals, TaskStore } from "./ports.ts";
import { type RecordParts, recordTurn } from "./record-turn.ts";
import { type RoundToolParts, RoundTools } from "./round-tools.ts";
import { type CallParts, runCalls } from "./run-calls.ts";
import type { RunControl } from "./run-control.ts";
import { stopCalls } from "./stop-calls.ts";
import { type SessionParts, TaskSession } from "./task-session.ts";
import { verifyTask } from "./verify-task.ts";

/** How long the end of a task's containers is waited for. */
const releaseMs = 5_000;

/** What working on a task needs. */
export interface RunParts
  extends SessionParts,
    AskParts,
    RecordParts,
    CallParts,
    EndParts,
    VerifyParts,
    RoundToolParts {
  readonly store: Pick<TaskStore, "load" | "get" | "commit">;
  readonly signals: Pick<TaskSignals, "committed" | "delta">;
  readonly onFault: (fault: unknown, what: string) => void;
}

/**
 * Works on a claimed task until it ends, is lost, or must be given back. Every round of this loop
 * looks at the record alone, so that work goes on after a crash exactly as it would have without.
 */
export async function runTask(parts: RunParts, claim: Claim, control: RunControl): Promise<"ended" | "give_back"> {
  const loaded = await parts.store.load(claim);
  if (loaded === undefined) return "ended";
  const session = new TaskSession(parts, claim, control, loaded);
  if (session.task.attempt > 1) {
    session.root.event("note", {
      text: "A worker takes the task up again.",
      attributes: { [attr.attempt]: session.task.attempt },
    });
  }
  try {
    await workOn(parts, session);
    if (!isTerminal(session.task.state)) return "give_back";
    if (session.task.state !== "SUCCEEDED") await sayFarewell(parts, session);
    await release(parts, session);
    return "ended";
  } catch (error) {
    if (isStop(error, "LEASE_LOST")) return "give_back";
    throw error;
  } finally {
    session.closeSpans();
  }
}

/** A session that cannot be ended now ends by itself when it was idle for long. */
async function release(parts: RunParts, session: TaskSession): Promise<void> {
  if (session.task.workspaceId === undefined) return;
  const signal = AbortSignal.timeout(releaseMs);
  await parts.workspaces.release(session.scope(session.root), signal).catch(() => undefined);
}

async function workOn(parts: RunParts, session: TaskSession): Promise<void> {
  using round = new RoundTools(parts, session);
  for (;;) {
    if (session.control.stopped === "LEASE_LOST" || session.control.draining) return;
    if (session.control.stopped === "BUDGET_EXHAUSTED") {
      session.task = { ...session.task, wallMsUsed: Math.max(session.task.wallMsUsed, session.control.answerNow()) };
    }
    if (session.control.stopped === "TASK_CANCELLED") session.task = { ...session.task, cancelRequested: true };
    const action = nextAction(session.task, session.log);
    if (action.kind === "nothing") return;
    const view = await round.viewOf(action);
    if (view === undefined) continue;
    try {
      await act({ ...parts, ...view }, session, action);
    } catch (error) {
      await absorb(parts, session, action, error);
    }
  }
}

/** A fault of the work at hand ends the task, unless the work was told to stop: then the loop decides anew. */
async function absorb(parts: RunParts, session: TaskSession, action: NextAction, error: unknown): Promise<void> {
  if (isStop(error, "LEASE_LOST")) throw error;
  if (session.control.signal.aborted && action.kind !== "cancel") return;
  const known = DroverError.from(error);
  if (known.reason === "TASK_CANCELLED" && action.kind !== "cancel") return heardCancel(parts, session);
  if (known.code === "INTERNAL" || action.kind === "cancel" || action.kind === "fail") {
    parts.onFault(error, `${action.kind} of a task failed`);
  }
  if (action.kind === "cancel" || action.kind === "fail") throw error;
  const { reason, message } = failureOf(known, action, session);
  await fail(session, reason, message);
}

/** Ends a task without success, and tells where a budget was the reason. */
function fail(session: TaskSession, reason: string, message: string): Promise<void> {
  const events = reason.startsWith("BUDGET_EXHAUSTED_") ? budgetNotice(session, message) : [];
  return failTask(session, reason, message, { events });
}

/** Another service heard of a cancel before this worker: the record says whether it is of this attempt. */
async function heardCancel(parts: RunParts, session: TaskSession): Promise<void> {
  const { tenant, id } = session.task;
  if ((await parts.store.get(tenant, id))?.cancelRequested) session.control.cancel();
}

async function act(parts: RunParts, session: TaskSession, action: NextAction): Promise<void> {
  switch (action.kind) {
    case "start": {
      waited(parts, session);
      await session.commit({ state: { to: "RUNNING", actor: "worker", reason: "", input: "claimed" } });
      return;
    }
    case "ask":
      if (action.limit === undefined && (await breakLoop(parts.tools, session))) return;
      return recordTurn(parts, session, action, await askModel(parts, session, action));
    case "run_calls":
      return runCalls(parts, session, action);
    case "verify":
      return verifyTask(parts, session, action.turn);
    case "settle_calls":
      await stopCalls(parts, session);
      return settleCalls(session);
    case "succeed":
      return succeedTask(parts, session);
    case "cancel":
      await stopCalls(parts, session);
      return cancelTask(session);
    case "fail":
      return fail(session, action.reason, action.message);
    case "nothing":
      return;
  }
}

/** The time a task waited for a worker, as a span. */
function waited(parts: RunParts, session: TaskSession): void {
  const { task, root } = session;
  parts.tracer
    .start({
      tenant: task.tenant,
      name: "queued",
      kind: "wait",
      parent: root.context,
      taskId: task.id,
      startedAt: task.createdAt,
      attributes: { [attr.waitFor]: "worker" },
    })
    .end();
}

interface Failure {
  readonly reason: string;
  readonly message: string;
}

function failureOf(error: DroverError, action: NextAction, session: TaskSession): Failure {
  if (action.kind !== "ask") return { reason: "INTERNAL", message: "An internal error ended the task." };
  const failure = askFailureOf(error);
  if (action.limit === undefined || failure.reason.startsWith("BUDGET_EXHAUSTED_")) return failure;
  const message = `The task has reached ${exhaustedText(session.task, action.limit)} and no final answer could be had: ${failure.message}`;
  return { reason: exhaustedReason(action.limit), message };
}

/** Memory's errors say so in their reason; every other one of a question comes from the model. */
function askFailureOf(error: DroverError): Failure {
  if (error.reason.startsWith("HOOK_")) return { reason: error.reason, message: error.message };
  if (error.reason.startsWith("MEMORY_") || error.reason.startsWith("BUDGET_EXHAUSTED_"))
    return { reason: error.reason, message: error.message };
  if (error.reason === "BUDGET_UNSATISFIABLE" || error.reason === "CONTEXT_LENGTH_EXCEEDED") {
    return { reason: "CONTEXT_TOO_LONG", message: error.message };
  }
  if (error.reason === "MODEL_OUTPUT_TOO_LONG") return { reason: "MODEL_OUTPUT_UNUSABLE", message: error.message };
  switch (error.code) {
    case "UNAVAILABLE":
    case "RESOURCE_EXHAUSTED":
    case "DEADLINE_EXCEEDED":
      return { reason: "MODEL_UNAVAILABLE", message: error.message };
    case "INVALID_ARGUMENT":
      return { reason: "MODEL_REQUEST_REFUSED", message: error.message };
    case "FAILED_PRECONDITION":
    case "PERMISSION_DENIED":
    case "UNAUTHENTICATED":
    case "NOT_FOUND":
      return { reason: "MODEL_MISCONFIGURED", message: error.message };
    default:
      return { reason: "INTERNAL", message: "An internal error ended the task." };
  }
}

function isStop(error: unknown, reason: string): boolean {
  return error instanceof DroverError && error.reason === reason;
}
