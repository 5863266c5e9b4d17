import { decisionFaults } from "./check-decisions.ts";
import { taskFaults } from "./check-task.ts";
import type { History, RecordedTask, Watched } from "./history.ts";

/**
 * What a run under faults has broken, in words; empty where it has broken nothing: one end per attempt, legal
 * transitions, versions and sequences without a gap, one owner at a time, no side effect twice and none without a
 * recorded intent, no decision twice and no call against one, watchers saw the stored log, every history is valid for a
 * strict provider, and what clients were told is so.
 */
export function historyFaults(history: History): string[] {
  return [
    ...history.tasks.flatMap(taskFaults),
    ...operationFaults(history),
    ...decisionFaults(history),
    ...ownerFaults(history),
    ...effectFaults(history),
    ...watchFaults(history),
  ];
}

function* operationFaults({ operations, tasks }: History): Generator<string> {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  const submitted = operations.filter(({ kind, outcome }) => kind === "submit" && outcome === "ok");
  for (const { taskId } of submitted) {
    if (!byId.has(taskId)) yield `task ${taskId} was accepted and is lost`;
  }
  const unanswered = operations.filter(({ kind, outcome }) => kind === "submit" && outcome === "unknown").length;
  const known = new Set(submitted.map(({ taskId }) => taskId));
  const strangers = tasks.filter(({ id }) => !known.has(id)).length;
  if (strangers > unanswered) yield `${strangers} tasks that nobody was told of, for ${unanswered} unknown submissions`;
}

/** Each epoch has one owner, each version one writer, and writers follow one another by epoch. */
function* ownerFaults({ owners }: History): Generator<string> {
  const ownerOf = new Map<string, string>();
  const writes = new Map<string, { readonly version: number; readonly epoch: number }[]>();
  for (const { owner, taskId, epoch, version } of owners) {
    const hold = `${taskId} under epoch ${epoch}`;
    const other = ownerOf.get(hold) ?? owner;
    if (other !== owner) yield `task ${hold} was held by ${other} and by ${owner}`;
    ownerOf.set(hold, other);
    if (version > 0) writes.set(taskId, [...(writes.get(taskId) ?? []), { version, epoch }]);
  }
  for (const [taskId, all] of writes) {
    const sorted = all.toSorted((a, b) => a.version - b.version);
    for (const [index, write] of sorted.entries()) {
      const before = sorted[index - 1];
      if (before === undefined) continue;
      if (write.version === before.version) yield `task ${taskId}: version ${write.version} was written twice`;
      if (write.epoch < before.epoch) {
        yield `task ${taskId}: version ${write.version} was written under epoch ${write.epoch} after ${before.epoch}`;
      }
    }
  }
}

function* effectFaults({ effects, tasks }: History): Generator<string> {
  const calls = tasks.flatMap((task) => task.calls);
  const done = new Map<string, number>();
  for (const { key, completed } of effects) {
    if (completed) done.set(key, (done.get(key) ?? 0) + 1);
    const intent = calls.find((call) => call.arguments.includes(JSON.stringify(key).slice(1, -1)));
    if (intent === undefined) yield `${key} was done without a recorded call`;
    else if (["PROPOSED", "AWAITING", "DENIED"].includes(intent.state))
      yield `${key} was done by a call ${intent.state}`;
  }
  for (const [key, times] of done) {
    if (times > 1) yield `${key} was done ${times} times`;
  }
  const begun = effects.map(({ callId }) => callId);
  for (const callId of new Set(begun.filter((id, index) => begun.indexOf(id) !== index))) {
    yield `call ${callId} began twice`;
  }
}

function* watchFaults({ watches, tasks }: History): Generator<string> {
  const byId = new Map(tasks.map((task) => [task.id, task]));
  for (const [taskId, mine] of Object.entries(Object.groupBy(watches, ({ taskId: id }) => id))) {
    const whole = byId.get(taskId)?.events.length;
    const told = mine?.some(({ complete, events }) => complete && events.length === whole);
    if (whole !== undefined && !told) yield `no watcher of task ${taskId} was told of its end`;
  }
  for (const watch of watches) {
    const task = byId.get(watch.taskId);
    if (task === undefined) yield `task ${watch.taskId} was watched and is lost`;
    else yield* differences(watch, task);
  }
}

function* differences({ events, complete }: Watched, task: RecordedTask): Generator<string> {
  for (const [index, { sequence, text }] of events.entries()) {
    const stored = task.events[index];
    if (sequence !== index + 1) {
      yield `a watcher of task ${task.id} got event ${sequence} as its number ${index + 1}`;
      return;
    }
    if (stored?.text !== text) yield `a watcher of task ${task.id} got another event ${sequence} than is stored`;
  }
  // A task that was resumed had an end before its last one.
  if (complete && task.events[events.length - 1]?.type !== "task_completed") {
    yield `a watcher of task ${task.id} was told of the end after ${events.length} of ${task.events.length} events`;
  }
}
