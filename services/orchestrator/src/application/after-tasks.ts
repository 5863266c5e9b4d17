import { type Clock, DroverError, withTimeout } from "@drover/kernel";
import { attr, type Span, type Tracer } from "@drover/tracing";
import { rootSpanId, type Task } from "../domain/task.ts";
import { isTerminal } from "../domain/task-state.ts";
import type { AfterTaskClaim, AfterTasks, ExtractionReport, FactMemory } from "./after-task-ports.ts";
import type { TaskStore } from "./ports.ts";

/** What working after tasks' ends needs. */
export interface AfterTaskParts {
  readonly after: AfterTasks;
  readonly store: Pick<TaskStore, "get">;
  readonly facts: FactMemory;
  readonly tracer: Tracer;
  readonly clock: Clock;
  readonly onFault: (fault: unknown, what: string) => void;
  /** How many at the same time; no slot of the worker is taken. */
  readonly parallel: number;
  /** Between two looks, ms. */
  readonly pollMs: number;
  /** Longest that memory is waited for, ms. */
  readonly timeoutMs: number;
  /** Tries before it is given up. */
  readonly attempts: number;
  /** Wait after the first try, ms; doubled after each one. */
  readonly backoffMs: number;
}

/** Longest wait between two tries, ms. */
const longestWaitMs = 600_000;
/** How long a claim outlives the call that it is for, ms. */
const graceMs = 5_000;

/**
 * Does what is due after tasks' ends, again and again until disposed of; then what is at hand is given back. Nothing
 * that it meets ends it, and nothing of it touches a task's state.
 */
export function workAfterTasks(parts: AfterTaskParts): AsyncDisposable {
  const stopping = new AbortController();
  const { signal } = stopping;
  const lanes = Array.from({ length: parts.parallel }, () => work(parts, signal));
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await Promise.all(lanes);
    },
  };
}

async function work(parts: AfterTaskParts, signal: AbortSignal): Promise<void> {
  const { after, clock, onFault, pollMs, timeoutMs, attempts } = parts;
  while (!signal.aborted) {
    try {
      const [claim] = await after.claim({ limit: 1, leaseMs: timeoutMs + graceMs, attempts });
      if (claim !== undefined) {
        await workOn(parts, claim, signal);
        continue;
      }
    } catch (fault) {
      onFault(fault, "work after a task's end failed");
    }
    await clock.sleep(pollMs, signal).catch(() => undefined);
  }
}

async function workOn(parts: AfterTaskParts, claim: AfterTaskClaim, signal: AbortSignal): Promise<void> {
  const { after, store } = parts;
  if (signal.aborted) return await after.retry(claim, 0, "");
  const task = await store.get(claim.tenant, claim.taskId);
  // Removed, or resumed in this moment: then the row is gone or withdrawn.
  if (task === undefined || !isTerminal(task.state)) return;
  const span = startSpan(parts.tracer, task, claim);
  try {
    const report = await extract(parts, task, span, signal);
    span.event("note", { text: report.words });
    const { outcome, usage } = report;
    await after.finish(claim, { state: "DONE", outcome, usage, problem: "" });
    span.end();
  } catch (caught) {
    const error = DroverError.from(caught);
    span.end({ error: error.message });
    if (signal.aborted) return await after.retry(claim, 0, "");
    await settle(parts, claim, error);
  }
}

async function settle({ after, attempts, backoffMs }: AfterTaskParts, claim: AfterTaskClaim, error: DroverError) {
  const problem = `${error.code}: ${error.message}`;
  // There is no conversation: the task never came so far, or it was erased.
  if (error.code === "NOT_FOUND") {
    await after.finish(claim, { state: "DONE", outcome: "NOTHING", problem, usage: undefined });
  } else if (error.code === "INVALID_ARGUMENT" || claim.attempt >= attempts) {
    await after.finish(claim, { state: "GIVEN_UP", outcome: "", problem, usage: undefined });
  } else await after.retry(claim, waitAfter(claim.attempt, backoffMs), problem);
}

/** The wait after a try, ms; tries count from 1. */
export function waitAfter(attempt: number, backoffMs: number): number {
  return Math.min(longestWaitMs, backoffMs * 2 ** Math.min(attempt - 1, 20));
}

async function extract(
  { facts, timeoutMs }: AfterTaskParts,
  task: Task,
  span: Span,
  signal: AbortSignal,
): Promise<ExtractionReport> {
  const scope = { tenant: task.tenant, subject: task.createdBy, taskId: task.id, trace: span.context };
  const { conversationId, agent } = task;
  return await withTimeout("Long-term memory", timeoutMs, signal, (limited) =>
    facts.extract(scope, { conversationId, agent }, limited),
  );
}

function startSpan(tracer: Tracer, task: Task, { attempt }: AfterTaskClaim): Span {
  return tracer.start({
    tenant: task.tenant,
    name: "long-term memory",
    kind: "memory",
    parent: { traceId: task.traceId, spanId: rootSpanId(task.id) },
    taskId: task.id,
    attributes: { [attr.conversationId]: task.conversationId, [attr.attempt]: attempt, [attr.role]: "memory" },
  });
}
