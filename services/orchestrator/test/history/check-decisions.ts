import { isTerminal, type TaskState } from "../../src/domain/task-state.ts";
import type { Effect, History, Operation, RecordedApproval, RecordedTask } from "./history.ts";

/**
 * What is wrong with approvals and resumes: each approval was settled once, by somebody who asked for just that or by
 * its time, everybody was told the same, no call was sent without its approval or after it was refused, with other
 * arguments than were approved or before anybody approved it, and each resume that was accepted is there once.
 */
export function* decisionFaults(history: History): Generator<string> {
  const decisions = history.operations.filter(({ kind }) => kind === "decide");
  for (const task of history.tasks) {
    for (const approval of task.approvals) {
      const asked = decisions.filter(({ decision }) => decision?.approvalId === approval.id);
      for (const fault of settlementFaults(approval, task, history.operations, asked)) {
        yield `approval ${approval.id}: ${fault}`;
      }
    }
    yield* callFaults(task);
    yield* resumeFaults(task, history.operations);
  }
  const known = new Set(history.tasks.flatMap(({ approvals }) => approvals.map(({ id }) => id)));
  for (const { decision, outcome } of decisions) {
    if (outcome === "ok" && !known.has(decision?.approvalId ?? "")) yield `approval ${decision?.approvalId} is lost`;
  }
  yield* earlyFaults(history.effects, history.tasks, decisions);
}

function* settlementFaults(
  approval: RecordedApproval,
  { id: taskId, events }: RecordedTask,
  operations: readonly Operation[],
  asked: readonly Operation[],
): Generator<string> {
  const { state, by, edited, late, changes } = approval;
  if (state === "PENDING") yield "nobody settled it";
  const times = events.filter(({ type, approvalId }) => type === "approval_decided" && approvalId === approval.id);
  if (times.length !== 1) yield `the task was told ${times.length} times how it ended`;
  if (changes.join() !== `PENDING,${state}`) yield `it is ${state}, and went ${changes.join(", ")}`;
  if ((state === "APPROVED" || state === "DENIED") && late) yield `${by} decided it when its time was over`;
  yield* toldFaults(approval, asked);
  const wanted = ({ decision, outcome }: Operation) =>
    outcome !== "failed" && decision?.state === state && decision.by === by && decision.edited === edited;
  if (state === "EXPIRED" ? by !== "expiry" || !late : state !== "WITHDRAWN" && !asked.some(wanted)) {
    yield `it is ${state} by ${by}, who had not asked for that`;
  }
  const cancelled = operations.some(
    ({ kind, taskId: about, outcome }) => kind === "cancel" && about === taskId && outcome !== "failed",
  );
  if (state === "WITHDRAWN" && !cancelled) yield "it was withdrawn, and nobody cancelled its task";
}

/** What those who decided were told. */
function* toldFaults({ state, by, edited }: RecordedApproval, asked: readonly Operation[]): Generator<string> {
  for (const { outcome, decision } of asked) {
    const told = decision?.told;
    if (outcome === "ok" && decision?.state !== state) yield `${decision?.by} was told that it is ${decision?.state}`;
    if (told !== undefined && (told.state !== state || told.by !== by)) {
      yield `somebody was told ${told.state} by ${told.by}, and it is ${state} by ${by}`;
    }
    if (outcome === "ok" && decision?.edited !== edited) yield "somebody was told other arguments than were approved";
  }
}

const sent: ReadonlySet<string> = new Set(["DISPATCHED", "SUCCEEDED", "FAILED", "UNKNOWN"]);

/** Calls that a rule asks about, by their final states. */
function* callFaults({ calls, approvals }: RecordedTask): Generator<string> {
  for (const { callId, policyEffect, state, argumentsHash } of calls) {
    if (policyEffect !== "ask" || !sent.has(state)) continue;
    const approval = approvals.find((one) => one.callId === callId && one.rule !== "");
    if (approval === undefined) yield `call ${callId} was sent without its approval`;
    else if (approval.state !== "APPROVED") yield `call ${callId} was sent, and its approval is ${approval.state}`;
    else if (approval.argumentsHash !== argumentsHash) yield `call ${callId} has other arguments than were approved`;
  }
}

/** What programs did, against what was decided and when it was asked for. */
function* earlyFaults(
  effects: readonly Effect[],
  tasks: readonly RecordedTask[],
  decisions: readonly Operation[],
): Generator<string> {
  const approvals = tasks.flatMap((task) => task.approvals).filter(({ rule }) => rule !== "");
  for (const { callId, at } of effects) {
    const approval = approvals.find((one) => one.callId === callId);
    if (approval === undefined) continue;
    if (approval.state !== "APPROVED") yield `call ${callId} was run, and its approval is ${approval.state}`;
    const before = decisions.some(
      ({ decision, outcome, invokedAt }) =>
        decision?.callId === callId && decision.state === "APPROVED" && outcome !== "failed" && invokedAt <= at,
    );
    if (!before) yield `call ${callId} was run before anybody approved it`;
  }
}

function* resumeFaults({ id, transitions, state }: RecordedTask, operations: readonly Operation[]): Generator<string> {
  const mine = operations.filter(({ taskId, outcome }) => taskId === id && outcome !== "failed");
  const resumes = mine.filter(({ kind }) => kind === "resume");
  const sure = resumes.filter(({ outcome }) => outcome === "ok").length;
  const done = transitions.filter(({ from, to }) => isTerminal(from as TaskState) && to === "RUNNING").length;
  if (done < sure || done > resumes.length) {
    yield `task ${id} was resumed ${done} times, and ${sure} to ${resumes.length} were asked for`;
  }
  if (state !== "SUCCEEDED") return;
  for (const cancel of mine.filter(
    ({ kind, outcome, accepted }) => kind === "cancel" && outcome === "ok" && accepted,
  )) {
    const undone = resumes.some(({ outcome, settledAt }) => outcome === "unknown" || settledAt >= cancel.invokedAt);
    if (!undone) yield `task ${id} succeeded after its cancel was accepted`;
  }
}
