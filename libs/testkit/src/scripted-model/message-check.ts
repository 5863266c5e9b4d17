import { badRequest, isRecord, type WireError } from "./wire-error.ts";

const roles: readonly unknown[] = ["system", "developer", "user", "assistant", "tool"];
const callName = /^[A-Za-z0-9_-]{1,64}$/;

/** The first reason to refuse these messages, as strict as the strictest provider; undefined when there is none. */
export function checkMessages(messages: unknown): WireError | undefined {
  if (!Array.isArray(messages)) return badRequest("messages", "Missing required parameter: 'messages'.");
  if (messages.length === 0) return badRequest("messages", "Invalid 'messages': empty array.", "empty_array");
  const state: CallState = { open: new Set(), used: new Set() };
  for (const [index, message] of messages.entries()) {
    const fault = checkMessage(`messages[${index}]`, message, state);
    if (fault !== undefined) return fault;
  }
  return state.open.size > 0 ? unanswered("messages", state.open) : undefined;
}

interface CallState {
  /** Calls of the last assistant turn that have no result yet. */
  open: Set<string>;
  /** Every call id so far; a repeated one means that a turn was sent twice. */
  readonly used: Set<string>;
}

function checkMessage(param: string, message: unknown, state: CallState): WireError | undefined {
  if (!isRecord(message)) return badRequest(param, `Invalid type for '${param}': expected an object.`);
  const { role, content } = message;
  if (!roles.includes(role)) return badRequest(`${param}.role`, `Invalid value: ${JSON.stringify(role)}.`);
  if (role === "tool") return checkResult(param, message, state);
  if (state.open.size > 0) return unanswered(param, state.open);
  if (role === "assistant") return checkTurn(param, message, state);
  return isContent(content) ? undefined : badRequest(`${param}.content`, `Invalid '${param}.content': expected text.`);
}

function checkResult(
  param: string,
  message: Readonly<Record<string, unknown>>,
  state: CallState,
): WireError | undefined {
  const id = message.tool_call_id;
  if (typeof id !== "string" || !state.open.delete(id)) {
    return badRequest(
      `${param}.tool_call_id`,
      "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
      null,
    );
  }
  return isContent(message.content)
    ? undefined
    : badRequest(`${param}.content`, `Invalid '${param}.content': expected text.`);
}

function checkTurn(param: string, message: Readonly<Record<string, unknown>>, state: CallState): WireError | undefined {
  const calls = message.tool_calls ?? undefined;
  if (calls === undefined) {
    return isContent(message.content) && message.content !== ""
      ? undefined
      : badRequest(param, "Invalid assistant message: content or tool_calls must be set.", null);
  }
  if (!Array.isArray(calls) || calls.length === 0) {
    return badRequest(
      `${param}.tool_calls`,
      `Invalid '${param}.tool_calls': expected a non-empty array.`,
      "empty_array",
    );
  }
  state.open = new Set();
  for (const [index, call] of calls.entries()) {
    const fault = checkCall(`${param}.tool_calls[${index}]`, call, state);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function checkCall(param: string, call: unknown, state: CallState): WireError | undefined {
  if (!isRecord(call) || call.type !== "function" || !isRecord(call.function)) {
    return badRequest(param, `Invalid '${param}': expected a call of type 'function'.`);
  }
  const id = call.id;
  if (typeof id !== "string" || id === "")
    return badRequest(`${param}.id`, `Missing required parameter: '${param}.id'.`);
  if (state.used.has(id))
    return badRequest(`${param}.id`, `Duplicate tool call id ${JSON.stringify(id)}.`, "duplicate_id");
  const { name, arguments: args } = call.function;
  if (typeof name !== "string" || !callName.test(name)) {
    return badRequest(
      `${param}.function.name`,
      `Invalid '${param}.function.name': does not match '${callName.source}'.`,
    );
  }
  if (typeof args !== "string")
    return badRequest(`${param}.function.arguments`, "Invalid arguments: expected a string.");
  state.used.add(id);
  state.open.add(id);
  return undefined;
}

function unanswered(param: string, open: ReadonlySet<string>): WireError {
  return badRequest(
    param,
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${[...open].join(", ")}`,
    null,
  );
}

function isContent(content: unknown): boolean {
  if (typeof content === "string") return true;
  return (
    Array.isArray(content) &&
    content.length > 0 &&
    content.every((part) => isRecord(part) && typeof part.type === "string")
  );
}
