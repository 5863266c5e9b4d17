import { asksForCalls, callsOf, type Step, type TaskLog } from "./step.ts";
import { findingsRequest } from "./verify-answer.ts";

/** A message as the memory service is given it. */
export interface LoggedMessage {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  /** `<task>/<step>/<part>`: appending it again changes nothing. */
  readonly clientMessageId: string;
  readonly pinned: boolean;
  readonly toolCalls: readonly {
    readonly callId: string;
    readonly providerCallId: string;
    readonly name: string;
    readonly argumentsJson: string;
  }[];
  /** The call that a tool message answers; else empty. */
  readonly toolCallId: string;
  readonly spillPointer: string;
  readonly fullCharacters: number;
}

/**
 * The messages that the steps after `through` amount to. A turn that asks for tools is held back until
 * its results are there, so that a conversation never holds a call without an answer.
 */
export function messagesAfter(taskId: string, log: TaskLog, through: number): readonly LoggedMessage[] {
  return log.steps.filter((step) => step.seq > through).flatMap((step) => messagesOf(taskId, step, log));
}

/** Sequence of the newest step whose messages are complete. */
export function completeThrough(log: TaskLog): number {
  const newest = log.steps.at(-1);
  if (newest === undefined) return 0;
  return asksForCalls(newest) ? newest.seq - 1 : newest.seq;
}

function messagesOf(taskId: string, step: Step, log: TaskLog): LoggedMessage[] {
  const message = (part: number, fields: Partial<LoggedMessage> & Pick<LoggedMessage, "role" | "text">) => ({
    clientMessageId: `${taskId}/${step.seq}/${part}`,
    pinned: false,
    toolCalls: [],
    toolCallId: "",
    spillPointer: "",
    fullCharacters: 0,
    ...fields,
  });
  switch (step.body.kind) {
    case "prompt":
      return [message(0, { role: "user", text: step.body.text, pinned: true })];
    case "nudge":
      return [message(0, { role: "user", text: step.body.text })];
    case "turn":
      // A turn with calls comes with its results; a turn without any text says nothing.
      if (step.body.decision === "tool_calls" || step.body.text === "") return [];
      return [message(0, { role: "assistant", text: step.body.text })];
    case "verification":
      return step.body.report.passed ? [] : [message(0, { role: "user", text: findingsRequest(step.body.report) })];
    case "results":
      return answered(step.body.turn, log, message);
  }
}

type MakeMessage = (
  part: number,
  fields: Partial<LoggedMessage> & Pick<LoggedMessage, "role" | "text">,
) => LoggedMessage;

function answered(turn: number, log: TaskLog, message: MakeMessage): LoggedMessage[] {
  const calls = callsOf(log, turn);
  const asked = log.steps.find((step) => step.seq === turn);
  const text = asked?.body.kind === "turn" ? asked.body.text : "";
  const toolCalls = calls.map((call) => ({
    callId: call.callId,
    providerCallId: call.providerCallId,
    name: call.tool,
    argumentsJson: call.arguments,
  }));
  return [
    message(0, { role: "assistant", text, toolCalls }),
    ...calls.map((call, index) =>
      message(index + 1, {
        role: "tool",
        text: call.shown,
        toolCallId: call.callId,
        spillPointer: call.spillPointer,
        fullCharacters: call.resultCharacters,
      }),
    ),
  ];
}
