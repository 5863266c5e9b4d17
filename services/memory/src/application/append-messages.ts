import { storableText, throwIfAborted } from "@drover/kernel";
import { checkDrafts } from "../domain/append-rules.ts";
import type { LoggedMessage, MessageDraft } from "../domain/message.ts";
import { previewOf } from "../domain/preview.ts";
import { requireToken, spillPointer } from "../domain/spill-pointer.ts";
import type { Call } from "./call.ts";
import { hashDraft, hashText } from "./content-hash.ts";
import type { ConversationLog, PreparedMessage, TokenCounter } from "./ports.ts";

/** When a tool result is stored beside the log, and how much of it stays. Both in UTF-16 units. */
export interface SpillPolicy {
  /** The longest text that stays in the log as a whole. */
  readonly thresholdCharacters: number;
  readonly previewCharacters: number;
}

/** Appends messages; see the rpc of the same name for the contract. */
export type AppendMessages = (
  call: Call,
  conversationId: string,
  drafts: readonly MessageDraft[],
  field?: string,
) => Promise<LoggedMessage[]>;

/** Makes {@link AppendMessages}. Tokens are counted and bodies cut before the transaction begins. */
export function createAppendMessages(parts: {
  readonly log: ConversationLog;
  readonly counter: TokenCounter;
  readonly policy: SpillPolicy;
}): AppendMessages {
  return async ({ owner, signal }, conversationId, drafts, field = "messages") => {
    requireToken("conversation_id", conversationId);
    checkDrafts(drafts, field);
    const prepared: PreparedMessage[] = [];
    for (const draft of drafts) prepared.push(await prepare(conversationId, draft, parts, signal));
    throwIfAborted(signal);
    return await parts.log.append(owner, conversationId, prepared, field, signal);
  };
}

async function prepare(
  conversationId: string,
  draft: MessageDraft,
  parts: { readonly counter: TokenCounter; readonly policy: SpillPolicy },
  signal: AbortSignal,
): Promise<PreparedMessage> {
  const whole = storable(draft);
  const contentHash = await hashDraft(whole);
  if (draft.role !== "tool" || draft.spillPointer !== "" || whole.text.length <= parts.policy.thresholdCharacters) {
    return { draft: whole, tokens: await parts.counter.message(whole, signal), contentHash, spill: undefined };
  }
  const pointer = spillPointer(conversationId, draft.toolCallId);
  const text = previewOf(whole.text, pointer, parts.policy.previewCharacters);
  const cut: MessageDraft = { ...whole, text, spillPointer: pointer, fullCharacters: whole.text.length };
  const spill = {
    callId: draft.toolCallId,
    text: whole.text,
    sizeBytes: new TextEncoder().encode(whole.text).byteLength,
    contentHash: await hashText(whole.text),
  };
  return { draft: cut, tokens: await parts.counter.message(cut, signal), contentHash, spill };
}

function storable(draft: MessageDraft): MessageDraft {
  const text = storableText(draft.text);
  const toolCalls = draft.toolCalls.map((call) => ({
    callId: call.callId,
    name: storableText(call.name),
    argumentsJson: storableText(call.argumentsJson),
    providerCallId: storableText(call.providerCallId),
  }));
  const clientMessageId = storableText(draft.clientMessageId);
  const fullCharacters = draft.spillPointer === "" ? text.length : draft.fullCharacters;
  return { ...draft, text, toolCalls, clientMessageId, fullCharacters };
}
