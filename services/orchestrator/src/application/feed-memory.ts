import { redact } from "@drover/redaction";
import { completeThrough, type LoggedMessage, messagesAfter } from "../domain/conversation.ts";
import type { ConversationMemory } from "./ports.ts";
import type { TaskSession } from "./task-session.ts";

/** The messages that memory has not seen from this worker, in the form in which they may leave the orchestrator. */
export function unfed(session: TaskSession): readonly LoggedMessage[] {
  return messagesAfter(session.task.id, session.log, session.fedThrough).map(shareable);
}

/** Notes that everything that {@link unfed} gave has arrived. */
export function markFed(session: TaskSession): void {
  session.fedThrough = completeThrough(session.log);
}

/** Gives memory what it has not seen yet; does nothing where it has seen all. */
export async function feedMemory(memory: ConversationMemory, session: TaskSession, signal: AbortSignal): Promise<void> {
  const messages = unfed(session);
  if (messages.length === 0) return;
  await memory.append(session.scope(session.root), session.task.conversationId, messages, signal);
  markFed(session);
}

/**
 * Arguments leave the orchestrator redacted, and always as JSON: a model may write anything, and
 * there are providers that refuse a history with arguments that do not parse.
 */
function shareable(message: LoggedMessage): LoggedMessage {
  if (message.toolCalls.length === 0) return message;
  const toolCalls = message.toolCalls.map((call) => {
    const text = redact(call.argumentsJson).text;
    return { ...call, argumentsJson: isJsonObject(text) ? text : JSON.stringify({ not_json: text.slice(0, 2_000) }) };
  });
  return { ...message, toolCalls };
}

function isJsonObject(text: string): boolean {
  try {
    const parsed: unknown = JSON.parse(text);
    return typeof parsed === "object" && parsed !== null && !Array.isArray(parsed);
  } catch {
    return false;
  }
}
