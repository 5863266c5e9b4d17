import { conversationFault, type Message } from "@drover/model";
import { messagesAfter } from "../../src/domain/conversation.ts";
import { canTransition, isTerminal, type TaskState } from "../../src/domain/task-state.ts";
import { isOpenCall } from "../../src/domain/tool-call-state.ts";
import type { RecordedTask, RecordedTransition } from "./history.ts";

/** What is wrong with the record of one task by itself; empty where nothing is. */
export function taskFaults(task: RecordedTask): string[] {
  return [...transitionFaults(task), ...endFaults(task), ...sequenceFaults(task), ...protocolFaults(task)].map(
    (fault) => `task ${task.id}: ${fault}`,
  );
}

function* transitionFaults({ transitions, state, version, events }: RecordedTask): Generator<string> {
  let before: RecordedTransition | undefined;
  for (const transition of transitions) {
    const { from, to } = transition;
    const first = before === undefined;
    if (first ? to !== "CREATED" : !canTransition(from as TaskState, to as TaskState)) {
      yield `the transition ${from} to ${to} is not legal`;
    }
    if (before !== undefined && from !== before.to) yield `a transition leaves ${from}, but the task was ${before.to}`;
    if (before !== undefined && transition.version <= before.version) {
      yield `version ${transition.version} comes after ${before.version}`;
    }
    if (events.find(({ sequence }) => sequence === transition.outputEvent)?.type !== "status_changed") {
      yield `the transition to ${to} has no event ${transition.outputEvent} that tells of it`;
    }
    before = transition;
  }
  if (before?.to !== state) yield `it is ${state}, but its last transition went to ${before?.to}`;
  if (before !== undefined && before.version > version)
    yield `a transition has version ${before.version} of ${version}`;
}

/** Each attempt ends once, with one last event, and only a resume begins another one. */
function* endFaults({ transitions, state, events }: RecordedTask): Generator<string> {
  if (!isTerminal(state as TaskState)) yield `it has not ended, it is ${state}`;
  const ends = transitions.filter(({ to }) => isTerminal(to as TaskState)).length;
  const resumes = transitions.filter(({ from, to }) => isTerminal(from as TaskState) && to === "RUNNING").length;
  if (ends !== resumes + 1) yield `${resumes + 1} attempts have ${ends} ends`;
  const completed = events.filter(({ type }) => type === "task_completed");
  if (completed.length !== ends) yield `${ends} ends have ${completed.length} last events`;
  for (const { sequence } of completed) {
    const next = events.find((event) => event.sequence === sequence + 1);
    if (next !== undefined && next.type !== "status_changed") yield `event ${sequence + 1} comes after the end`;
  }
}

function* sequenceFaults({ steps, events, lastSequence, epoch }: RecordedTask): Generator<string> {
  for (const [index, { sequence }] of events.entries()) {
    if (sequence !== index + 1) yield `event ${index + 1} is number ${sequence}`;
  }
  if (lastSequence !== events.length) yield `its last sequence is ${lastSequence} of ${events.length} events`;
  for (const [index, step] of steps.entries()) {
    if (step.seq !== index + 1) yield `step ${index + 1} is number ${step.seq}`;
    const before = steps[index - 1];
    if (before !== undefined && step.epoch < before.epoch) {
      yield `step ${step.seq} was written under epoch ${step.epoch}, the one before under ${before.epoch}`;
    }
    if (step.epoch > epoch) yield `step ${step.seq} has epoch ${step.epoch} of ${epoch}`;
  }
}

/** What a strict provider would refuse, and calls that were left open. */
function* protocolFaults({ id, steps, calls }: RecordedTask): Generator<string> {
  for (const call of calls) {
    if (isOpenCall(call.state)) yield `call ${call.callId} is still ${call.state}`;
  }
  const messages = messagesAfter(id, { steps, calls }, 0).map((message): Message => {
    if (message.role === "tool") return { role: "tool", callId: message.toolCallId, text: message.text };
    if (message.role === "user") return { role: "user", text: message.text };
    return { role: "assistant", text: message.text, toolCalls: message.toolCalls };
  });
  const fault = conversationFault(messages);
  if (fault !== undefined) yield `a provider would refuse ${fault.field}: ${fault.found}`;
  const asked = steps
    .filter(({ body }) => body.kind === "turn" && body.decision === "tool_calls")
    .map(({ seq }) => seq);
  const answered = steps.flatMap(({ body }) => (body.kind === "results" ? [body.turn] : []));
  for (const turn of asked) {
    const times = answered.filter((other) => other === turn).length;
    if (times !== 1) yield `the calls of step ${turn} are answered ${times} times`;
  }
}
