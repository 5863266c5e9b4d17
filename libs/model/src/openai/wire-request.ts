import { DroverError } from "@drover/kernel";
import type {
  ChatCompletionCreateParamsStreaming,
  ChatCompletionMessageParam,
  ChatCompletionTool,
} from "openai/resources/chat/completions";
import { conversationFault } from "../conversation-fault.ts";
import type { ModelRequest } from "../gateway.ts";
import type { AssistantMessage, Message } from "../message.ts";
import type { ToolSpec } from "../tool-spec.ts";
import { wireSchema } from "./wire-schema.ts";

/**
 * The request as it goes over the wire, always streaming. Throws INVALID_ARGUMENT for messages that a
 * strict provider would refuse, before anything is sent.
 */
export function wireRequest(
  request: ModelRequest,
  model: string,
  includeUsage: boolean,
): ChatCompletionCreateParamsStreaming {
  const fault = conversationFault(request.messages);
  if (fault !== undefined) {
    throw new DroverError("INVALID_ARGUMENT", `${fault.field}: found ${fault.found}, allowed ${fault.allowed}`, {
      violations: [fault],
    });
  }
  const tools = request.tools ?? [];
  return {
    model,
    stream: true,
    messages: wireMessages(request.messages),
    ...(includeUsage ? { stream_options: { include_usage: true } } : {}),
    ...(tools.length === 0 ? {} : { tools: tools.map(wireTool) }),
    ...(tools.length === 0 || request.toolChoice === undefined ? {} : { tool_choice: request.toolChoice }),
    ...(request.temperature === undefined ? {} : { temperature: request.temperature }),
    ...(request.maxOutputTokens === undefined ? {} : { max_completion_tokens: request.maxOutputTokens }),
  };
}

function wireTool(tool: ToolSpec): ChatCompletionTool {
  return {
    type: "function",
    function: { name: tool.name, description: tool.description, parameters: { ...wireSchema(tool.parameters) } },
  };
}

function wireMessages(messages: readonly Message[]): ChatCompletionMessageParam[] {
  const providerIds = providerIdsOf(messages);
  return messages.map((message) => wireMessage(message, providerIds));
}

function wireMessage(message: Message, providerIds: ReadonlyMap<string, string>): ChatCompletionMessageParam {
  switch (message.role) {
    case "system":
    case "user":
      return { role: message.role, content: message.text };
    case "assistant":
      return wireTurn(message, providerIds);
    case "tool":
      return { role: "tool", tool_call_id: providerIds.get(message.callId) ?? message.callId, content: message.text };
  }
}

function wireTurn(turn: AssistantMessage, providerIds: ReadonlyMap<string, string>): ChatCompletionMessageParam {
  if (turn.toolCalls.length === 0) return { role: "assistant", content: turn.text };
  return {
    role: "assistant",
    content: turn.text === "" ? null : turn.text,
    tool_calls: turn.toolCalls.map((call) => ({
      type: "function",
      id: providerIds.get(call.callId) ?? call.callId,
      function: { name: call.name, arguments: call.argumentsJson },
    })),
  };
}

/**
 * The ids to echo for all calls: the provider's own, ours where it gave none or gave one before. Some
 * number their calls anew in each turn, and others refuse a history in which an id comes twice.
 */
function providerIdsOf(messages: readonly Message[]): ReadonlyMap<string, string> {
  const used = new Set([""]);
  const ids = new Map<string, string>();
  for (const message of messages) {
    if (message.role !== "assistant") continue;
    for (const { callId, providerCallId } of message.toolCalls) {
      ids.set(callId, used.has(providerCallId) ? callId : providerCallId);
      used.add(providerCallId);
    }
  }
  return ids;
}
