import { type Clock, DroverError } from "@drover/kernel";
import type { Step } from "../domain/step.ts";
import { asksForCalls, callsOf } from "../domain/step.ts";
import type { TaskEventBody } from "../domain/task-event.ts";
import { isOpenCall } from "../domain/tool-call-state.ts";
import { feedMemory } from "./feed-memory.ts";
import { withPatience } from "./patience.ts";
import type { CallResult, ConversationMemory, TaskChange } from "./ports.ts";
import type { TaskSession } from "./task-session.ts";

/** What ending needs. */
export interface EndParts {
  readonly memory: ConversationMemory;
  readonly clock: Clock;
  readonly patienceMs: number;
}

/** How long memory is waited for once a task has ended without success. */
const farewellMs = 5_000;

/**
 * The last commit of a task with an answer. The answer goes to memory first, so that the
 * conversation goes on with it; where memory stays away, the task succeeds all the same and the step
 * log has the answer. A cancel that came before wins.
 */
export async function succeedTask(parts: EndParts, session: TaskSession): Promise<void> {
  const { control } = session;
  try {
    await withPatience({ totalMs: parts.patienceMs, clock: parts.clock }, control.signal, () =>
      feedMemory(parts.memory, session, control.signal),
    );
  } catch (error) {
    if (control.signal.aborted) throw error;
    session.root.event("error", { text: `The answer could not be added to the conversation: ${textOf(error)}` });
  }
  await session.commit({ state: { to: "SUCCEEDED", actor: "worker", reason: "", input: "verified" } });
}

/** Ends a task as FAILED; `reason` is UPPER_SNAKE_CASE, `message` for people. `change` is committed with it. */
export async function failTask(
  session: TaskSession,
  reason: string,
  message: string,
  change: TaskChange = {},
): Promise<void> {
  await session.commit({
    ...change,
    failureReason: reason,
    failureMessage: message,
    state: { to: "FAILED", actor: "worker", reason, input: "failed" },
  });
}

/**
 * Ends a task as CANCELLED. All its work has stopped by now. Results that are there are kept, every other call of the
 * last turn gets one that says what is known, so that the history stays whole.
 */
export async function cancelTask(session: TaskSession): Promise<void> {
  await session.commit({
    ...settled(session, cancelWords),
    state: { to: "CANCELLED", actor: "", reason: "", input: "cancel_requested" },
  });
}

/** Gives every open call of the last turn its result, now that the time to work is over. Their work has stopped. */
export async function settleCalls(session: TaskSession): Promise<void> {
  await session.commit(settled(session, timeWords));
  session.unrecorded.clear();
  session.endRound("the time to work is over");
}

/** The results of the open calls of the last turn: what is there, and for the others what is known of them. */
function settled(session: TaskSession, words: SettleWords): TaskChange {
  const results = [...openResults(session, words)];
  const turn = session.log.steps.at(-1);
  const steps: readonly Step[] =
    turn !== undefined && asksForCalls(turn)
      ? [{ seq: turn.seq + 1, round: turn.round, body: { kind: "results", turn: turn.seq } }]
      : [];
  const tools = new Map(session.log.calls.map((call) => [call.callId, call.tool]));
  return {
    results,
    steps,
    events: results.map((result) => completedEvent(result, tools.get(result.callId) ?? "")),
  };
}

/** Why calls were not brought to their end. */
interface SettleWords {
  readonly code: string;
  readonly sent: string;
  readonly unsent: string;
}

const cancelWords: SettleWords = {
  code: "CANCELLED",
  sent: "The task was cancelled while this call ran; what it did until then is not known.",
  unsent: "The task was cancelled before this call began; it did nothing.",
};

const timeWords: SettleWords = {
  code: "BUDGET_EXHAUSTED",
  sent: "The time for the task was over while this call ran; what it did until then is not known.",
  unsent: "The time for the task was over before this call began; it did nothing.",
};

/** Gives memory the rest of a task that did not succeed; failing to is no harm to the task. */
export async function sayFarewell(parts: EndParts, session: TaskSession): Promise<void> {
  const signal = AbortSignal.timeout(farewellMs);
  await feedMemory(parts.memory, session, signal).catch((error: unknown) =>
    session.root.event("error", { text: `The conversation lacks the end of this task: ${textOf(error)}` }),
  );
}

/** The event of a call that has its result. */
export function completedEvent(result: CallResult, tool: string): TaskEventBody {
  const { callId, state, summary, errorCode, durationMs, resultCharacters, shownCharacters, spillPointer } = result;
  return {
    type: "tool_call_completed",
    callId,
    tool,
    state,
    summary,
    errorCode,
    durationMs,
    resultCharacters,
    shownCharacters,
    spillPointer,
  };
}

function* openResults(session: TaskSession, words: SettleWords): Generator<CallResult> {
  const turn = session.log.steps.at(-1)?.seq ?? 0;
  for (const call of callsOf(session.log, turn)) {
    if (!isOpenCall(call.state)) continue;
    const known = session.unrecorded.get(call.callId);
    yield known ?? unendedResult(call.callId, call.state === "DISPATCHED", words);
  }
}

function unendedResult(callId: string, dispatched: boolean, words: SettleWords): CallResult {
  const summary = dispatched ? words.sent : words.unsent;
  const shown = `ERROR ${words.code}: ${summary}`;
  return {
    callId,
    state: dispatched ? "UNKNOWN" : "CANCELLED",
    shown,
    summary,
    errorCode: dispatched ? "OUTCOME_UNKNOWN" : words.code,
    retryable: false,
    artifacts: [],
    resultCharacters: shown.length,
    shownCharacters: shown.length,
    spillPointer: "",
    durationMs: 0,
  };
}

function textOf(error: unknown): string {
  return DroverError.from(error).message;
}
