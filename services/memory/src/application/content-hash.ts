import type { MessageDraft } from "../domain/message.ts";

/** SHA-256 as 64 hexadecimal digits. */
export async function hashText(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Hash of everything that makes a message what it is; task and idempotency key are no part of it. */
export async function hashDraft(draft: MessageDraft): Promise<string> {
  const calls = draft.toolCalls.map((call) => [call.callId, call.name, call.argumentsJson, call.providerCallId]);
  return hashText(JSON.stringify([draft.role, draft.text, calls, draft.toolCallId, draft.spillPointer, draft.pinned]));
}
