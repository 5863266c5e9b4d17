import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { invalidField } from "@drover/kernel";
import { type Message, MessageSchema, Role, ToolCallSchema } from "@drover/proto/memory/v1/message";
import type { ContextMessage } from "../domain/context.ts";
import type { MessageDraft } from "../domain/message.ts";

const protoRoles = { system: Role.SYSTEM, user: Role.USER, assistant: Role.ASSISTANT, tool: Role.TOOL } as const;

/** The drafts of a request; INVALID_ARGUMENT names the message whose role is not known. */
export function draftsOf(messages: readonly Message[], field: string): MessageDraft[] {
  return messages.map((message, index) => ({
    role: roleOf(message.role, `${field}[${index}].role`),
    text: message.text,
    toolCalls: message.toolCalls.map(({ callId, name, argumentsJson, providerCallId }) => ({
      callId,
      name,
      argumentsJson,
      providerCallId,
    })),
    toolCallId: message.toolCallId,
    spillPointer: message.spillPointer,
    fullCharacters: message.spillPointer === "" ? message.text.length : Number(message.fullCharacters),
    clientMessageId: message.clientMessageId,
    pinned: message.pinned,
    taskId: message.taskId,
  }));
}

function roleOf(role: Role, field: string): MessageDraft["role"] {
  switch (role) {
    case Role.SYSTEM:
      return "system";
    case Role.USER:
      return "user";
    case Role.ASSISTANT:
      return "assistant";
    case Role.TOOL:
      return "tool";
    default:
      throw invalidField(field, String(role), "ROLE_SYSTEM, ROLE_USER, ROLE_ASSISTANT or ROLE_TOOL");
  }
}

/** A message as it goes over the wire; one that was made for a context has neither id nor sequence. */
export function protoMessage(message: ContextMessage): Message {
  return create(MessageSchema, {
    id: message.id,
    sequence: BigInt(message.sequence),
    role: protoRoles[message.role],
    text: message.text,
    toolCalls: message.toolCalls.map((call) => create(ToolCallSchema, call)),
    toolCallId: message.toolCallId,
    spillPointer: message.spillPointer,
    fullCharacters: BigInt(message.fullCharacters),
    clientMessageId: message.clientMessageId,
    pinned: message.pinned,
    createdAt: timestampFromDate(message.createdAt),
    tokens: message.tokens,
    taskId: message.taskId,
  });
}
