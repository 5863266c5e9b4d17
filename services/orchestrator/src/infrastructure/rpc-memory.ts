import { create } from "@bufbuild/protobuf";
import { createClient, type Transport } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import type { Message as ModelMessage, ToolSpec } from "@drover/model";
import { countMessage, countTools } from "@drover/model/tokens";
import { ConversationService } from "@drover/proto/memory/v1/conversation_service";
import { type Message, MessageSchema, Role } from "@drover/proto/memory/v1/message";
import type { ConversationMemory } from "../application/ports.ts";
import type { LoggedMessage } from "../domain/conversation.ts";
import { actingFor } from "./acting-for.ts";

/** Characters that one request may append; UTF-8 and the rest of the message stay below 4 MB. */
const appendCharacters = 900_000;
const chunkBytes = 256 * 1024;
const scopes = ["memory:read", "memory:write"];

/** What a context is measured by. */
export interface ContextLimits {
  readonly windowTokens: number;
  readonly reservedOutputTokens: number;
}

/** The memory service over rpc. Its passing failures carry the reason MEMORY_UNAVAILABLE, its refusals MEMORY_REFUSED. */
export function createRpcMemory(transport: Transport, limits: ContextLimits): ConversationMemory {
  const client = createClient(ConversationService, transport);
  const fixedTokens = fixedTokenCounter();

  const append: ConversationMemory["append"] = (scope, conversationId, messages, signal) =>
    named(signal, async () => {
      for (const batch of batches(messages)) {
        const request = { conversationId, messages: batch.map((m) => messageOf(scope.taskId, m)) };
        await client.appendMessages(request, actingFor(scope, scopes, signal));
      }
    });

  return {
    append,
    buildContext: (scope, request, signal) =>
      named(signal, async () => {
        const batched = batches(request.append);
        const rest = batched.pop() ?? [];
        await append(scope, request.conversationId, batched.flat(), signal);
        const response = await client.buildContext(
          {
            conversationId: request.conversationId,
            append: rest.map((message) => messageOf(scope.taskId, message)),
            windowTokens: BigInt(limits.windowTokens),
            reservedOutputTokens: BigInt(limits.reservedOutputTokens),
            fixedTokens: BigInt(fixedTokens(request.systemPrompt, request.tools)),
          },
          actingFor(scope, scopes, signal),
        );
        return response.messages.map(modelMessage);
      }),
    spill: (scope, { conversationId, callId, text }, signal) =>
      named(signal, async () => {
        async function* parts() {
          yield { part: { case: "header" as const, value: { conversationId, callId } } };
          const bytes = new TextEncoder().encode(text);
          for (let at = 0; at < bytes.length; at += chunkBytes) {
            yield { part: { case: "chunk" as const, value: bytes.subarray(at, at + chunkBytes) } };
          }
        }
        return (await client.putSpill(parts(), actingFor(scope, scopes, signal))).pointer;
      }),
  };
}

async function named<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (caught) {
    if (signal.aborted) throw DroverError.from(signal.reason);
    const error = DroverError.from(caught);
    const own = error.reason === "BUDGET_UNSATISFIABLE" || error.reason === "TASK_CANCELLED";
    if (own || error.reason.startsWith("MEMORY_")) throw error;
    const passing = error.retryable || error.code === "DEADLINE_EXCEEDED";
    throw new DroverError(error.code, `The memory service: ${error.message}`, {
      reason: passing ? "MEMORY_UNAVAILABLE" : "MEMORY_REFUSED",
      retryable: passing,
      cause: error,
    });
  }
}

/** System prompt and tools hardly ever change: their tokens are counted once. */
function fixedTokenCounter(): (systemPrompt: string, tools: readonly ToolSpec[]) => number {
  let counted: { readonly prompt: string; readonly tools: readonly ToolSpec[]; readonly tokens: number } | undefined;
  return (prompt, tools) => {
    if (counted?.prompt !== prompt || counted.tools !== tools) {
      counted = { prompt, tools, tokens: countMessage({ role: "system", text: prompt }) + countTools(tools) };
    }
    return counted.tokens;
  };
}

function batches(messages: readonly LoggedMessage[]): LoggedMessage[][] {
  const all: LoggedMessage[][] = [];
  let size = Number.POSITIVE_INFINITY;
  for (const message of messages) {
    const own = message.text.length + message.toolCalls.reduce((sum, call) => sum + call.argumentsJson.length, 0);
    if (size + own > appendCharacters) {
      all.push([]);
      size = 0;
    }
    all.at(-1)?.push(message);
    size += own;
  }
  return all;
}

const roles = { user: Role.USER, assistant: Role.ASSISTANT, tool: Role.TOOL } as const;

function messageOf(taskId: string, message: LoggedMessage): Message {
  return create(MessageSchema, {
    role: roles[message.role],
    text: message.text,
    clientMessageId: message.clientMessageId,
    pinned: message.pinned,
    toolCalls: [...message.toolCalls],
    toolCallId: message.toolCallId,
    spillPointer: message.spillPointer,
    fullCharacters: BigInt(message.spillPointer === "" ? 0 : message.fullCharacters),
    taskId,
  });
}

function modelMessage(message: Message): ModelMessage {
  switch (message.role) {
    case Role.SYSTEM:
      return { role: "system", text: message.text };
    case Role.ASSISTANT:
      return {
        role: "assistant",
        text: message.text,
        toolCalls: message.toolCalls.map(({ callId, providerCallId, name, argumentsJson }) => ({
          callId,
          providerCallId,
          name,
          argumentsJson,
        })),
      };
    case Role.TOOL:
      return { role: "tool", callId: message.toolCallId, text: message.text };
    default:
      return { role: "user", text: message.text };
  }
}
