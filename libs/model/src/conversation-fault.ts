import type { FieldViolation } from "@drover/kernel";
import type { AssistantMessage, Message, ToolCall } from "./message.ts";
import { isToolName } from "./tool-spec.ts";

/**
 * The first reason why a strict provider would refuse these messages, or undefined: an assistant
 * turn with neither text nor calls, a call name out of shape, a call id used twice, a tool message
 * that answers no open call, or a call that is still open when another message follows. `messages`
 * is the path prefix of the violation. Linear in the number of messages and calls.
 */
export function conversationFault(messages: readonly Message[], path = "messages"): FieldViolation | undefined {
  const seen = new Set<string>();
  let open = new Set<string>();
  for (const [index, message] of messages.entries()) {
    const field = `${path}[${index}]`;
    if (message.role === "tool") {
      if (!open.delete(message.callId)) return orphan(field, message.callId);
      continue;
    }
    if (open.size > 0) return unanswered(field, open);
    if (message.role !== "assistant") continue;
    const fault = turnFault(field, message, seen);
    if (fault !== undefined) return fault;
    open = new Set(message.toolCalls.map((call) => call.callId));
  }
  return open.size > 0 ? unanswered(`${path}[${messages.length}]`, open) : undefined;
}

function turnFault(field: string, turn: AssistantMessage, seen: Set<string>): FieldViolation | undefined {
  if (turn.text === "" && turn.toolCalls.length === 0) {
    return {
      field,
      found: "an assistant turn without text and without tool calls",
      allowed: "text, tool calls or both",
    };
  }
  for (const [index, call] of turn.toolCalls.entries()) {
    const fault = callFault(`${field}.tool_calls[${index}]`, call, seen);
    if (fault !== undefined) return fault;
    seen.add(call.callId);
  }
  return undefined;
}

function callFault(field: string, call: ToolCall, seen: ReadonlySet<string>): FieldViolation | undefined {
  if (call.callId === "" || seen.has(call.callId)) {
    return { field: `${field}.call_id`, found: `${quoted(call.callId)}, used before or empty`, allowed: "a new id" };
  }
  if (!isToolName(call.name)) {
    return { field: `${field}.name`, found: quoted(call.name), allowed: "1 to 64 letters, digits, _ or -" };
  }
  return undefined;
}

function orphan(field: string, callId: string): FieldViolation {
  return {
    field: `${field}.call_id`,
    found: `${quoted(callId)}, which answers no open tool call`,
    allowed: "the id of a call of the assistant turn before it, once",
  };
}

function unanswered(field: string, open: ReadonlySet<string>): FieldViolation {
  const [first = ""] = open;
  return { field, found: `no result for tool call ${quoted(first)}`, allowed: "one tool message for each call" };
}

function quoted(text: string): string {
  return JSON.stringify(text.slice(0, 64));
}
