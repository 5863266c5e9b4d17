import type { LoggedMessage } from "./message.ts";

/** A tool result of a unit; without a logged message it was never recorded. */
interface UnitResult {
  readonly callId: string;
  readonly message: LoggedMessage | undefined;
}

/**
 * What a context keeps or leaves out as a whole: one message, or an assistant message with the
 * results of all its calls in the order of the calls.
 */
export interface Unit {
  readonly head: LoggedMessage;
  readonly results: readonly UnitResult[];
}

/**
 * Groups messages (in order of their sequence) into units, in order of their first message. A
 * result belongs to the unit of its call, wherever in the log it stands; a result whose call is
 * not among the messages belongs to a unit that begins before them, and is left out with it.
 */
export function unitsOf(messages: readonly LoggedMessage[]): Unit[] {
  const results = new Map<string, LoggedMessage>();
  for (const message of messages) if (message.role === "tool") results.set(message.toolCallId, message);
  const units: Unit[] = [];
  for (const head of messages) if (head.role !== "tool") units.push(unitOf(head, results));
  return units;
}

function unitOf(head: LoggedMessage, byCall: ReadonlyMap<string, LoggedMessage>): Unit {
  const results = head.toolCalls.map((call) => ({ callId: call.callId, message: byCall.get(call.callId) }));
  return { head, results };
}
