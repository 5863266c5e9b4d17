import { type FieldViolation, invalidFields } from "@drover/kernel";
import type { MessageDraft } from "./message.ts";
import { requireToken } from "./spill-pointer.ts";

/** Limits of one append. */
const limits = { messages: 1000, callsPerMessage: 128, clientMessageIdCharacters: 200 } as const;

/**
 * Checks what one append can be checked for without looking at the log. INVALID_ARGUMENT lists every
 * fault by field; call ids must be tokens, because they become part of pointers.
 */
export function checkDrafts(drafts: readonly MessageDraft[], field: string): void {
  const faults: FieldViolation[] = [];
  if (drafts.length > limits.messages) {
    faults.push({ field, found: `${drafts.length} messages`, allowed: `at most ${limits.messages}` });
  }
  const clientIds = new Set<string>();
  const callIds = new Set<string>();
  const answered = new Set<string>();
  for (const [index, draft] of drafts.entries()) {
    const path = `${field}[${index}]`;
    faults.push(...shapeFaults(draft, path));
    if (draft.clientMessageId !== "") repeated(clientIds, draft.clientMessageId, `${path}.client_message_id`, faults);
    for (const [at, call] of draft.toolCalls.entries()) {
      requireToken(`${path}.tool_calls[${at}].call_id`, call.callId);
      repeated(callIds, call.callId, `${path}.tool_calls[${at}].call_id`, faults);
    }
    if (draft.role !== "tool") continue;
    requireToken(`${path}.tool_call_id`, draft.toolCallId);
    repeated(answered, draft.toolCallId, `${path}.tool_call_id`, faults);
  }
  if (faults.length > 0) throw invalidFields(faults);
}

function shapeFaults(draft: MessageDraft, path: string): FieldViolation[] {
  const faults: FieldViolation[] = [];
  const add = (field: string, found: string, allowed: string) =>
    faults.push({ field: `${path}.${field}`, found, allowed });
  const calls = draft.toolCalls.length;
  if (draft.text === "" && calls === 0 && draft.role !== "tool") add("text", "empty", "at least 1 character");
  if (calls > 0 && draft.role !== "assistant") add("tool_calls", `${calls} on a ${draft.role} message`, "none");
  if (draft.pinned && draft.role !== "user" && draft.role !== "system") {
    add("pinned", `set on a ${draft.role} message`, "only on a user or system message");
  }
  if (calls > limits.callsPerMessage) add("tool_calls", String(calls), `at most ${limits.callsPerMessage}`);
  if (draft.toolCallId !== "" && draft.role !== "tool") add("tool_call_id", "set", "only on a tool message");
  if (draft.spillPointer !== "" && draft.role !== "tool") add("spill_pointer", "set", "only on a tool message");
  if (draft.fullCharacters < 0) add("full_characters", String(draft.fullCharacters), "0 or more");
  if (draft.clientMessageId.length > limits.clientMessageIdCharacters) {
    const allowed = `at most ${limits.clientMessageIdCharacters} characters`;
    add("client_message_id", `${draft.clientMessageId.length} characters`, allowed);
  }
  return faults;
}

function repeated(seen: Set<string>, value: string, field: string, faults: FieldViolation[]): void {
  if (seen.has(value)) faults.push({ field, found: `${JSON.stringify(value)} twice`, allowed: "each once" });
  seen.add(value);
}
