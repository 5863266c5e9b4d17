import { DroverError } from "@drover/kernel";
import { conversationFault, type Message } from "@drover/model";
import type { ContextMessage } from "./context.ts";

/**
 * The last look at a context before it leaves: INTERNAL when a strict provider would refuse it. A
 * wrong list is never handed out, because the provider's 400 would fail the task with no way on.
 */
export function assertAcceptable(messages: readonly ContextMessage[]): void {
  const fault = conversationFault(messages.map(modelMessage));
  if (fault === undefined) return;
  throw new DroverError("INTERNAL", "The context could not be built into a list that providers accept.", {
    reason: "CONTEXT_NOT_ACCEPTABLE",
    metadata: { field: fault.field },
    cause: new Error(`${fault.field}: found ${fault.found}, allowed ${fault.allowed}`),
  });
}

function modelMessage(message: ContextMessage): Message {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, text: message.text };
    case "assistant":
      return { role: "assistant", text: message.text, toolCalls: message.toolCalls };
    case "tool":
      return { role: "tool", callId: message.toolCallId, text: message.text };
  }
}
