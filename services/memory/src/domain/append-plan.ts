import { DroverError, type FieldViolation, invalidField, invalidFields } from "@drover/kernel";
import type { LoggedMessage, MessageDraft } from "./message.ts";
import { callIdOfPointer } from "./spill-pointer.ts";

/** A message to append, with the hash that tells a repetition from another content. */
export interface HashedDraft {
  readonly draft: MessageDraft;
  readonly contentHash: string;
}

/** A message of the log with the same hash. */
export interface HashedMessage extends LoggedMessage {
  readonly contentHash: string;
}

/** What the log already holds that an append may meet. */
export interface LogFacts {
  readonly conversationId: string;
  /** Messages that share a client_message_id or a tool_call_id with one of the drafts. */
  readonly present: readonly HashedMessage[];
  /** Calls that an assistant message of the log asks for. */
  readonly knownCalls: ReadonlySet<string>;
  /** Calls whose whole result is stored beside the log. */
  readonly spilledCalls: ReadonlySet<string>;
}

/** What becomes of one draft. */
export type Placement<Draft> =
  | { readonly kind: "present"; readonly message: HashedMessage }
  | { readonly kind: "new"; readonly draft: Draft };

/**
 * Decides for each draft whether the log has it already. ALREADY_EXISTS when it has another content
 * under the same key; INVALID_ARGUMENT when a result answers no call, a call id was used by another
 * turn, or a pointer does not resolve within the conversation.
 */
export function planAppend<Draft extends HashedDraft>(
  drafts: readonly Draft[],
  facts: LogFacts,
  field: string,
): Placement<Draft>[] {
  const byClientId = new Map(facts.present.map((message) => [message.clientMessageId, message]));
  const byCall = new Map(facts.present.map((message) => [message.toolCallId, message]));
  const calls = new Set(facts.knownCalls);
  const faults: FieldViolation[] = [];
  const placements = drafts.map((item, index): Placement<Draft> => {
    const { clientMessageId, toolCallId } = item.draft;
    const path = `${field}[${index}]`;
    const byId = clientMessageId === "" ? undefined : byClientId.get(clientMessageId);
    const message = byId ?? (toolCallId === "" ? undefined : byCall.get(toolCallId));
    if (message !== undefined) {
      requireSame(message, item, path);
      return { kind: "present", message };
    }
    faults.push(...referenceFaults(item.draft, calls, facts, path));
    for (const call of item.draft.toolCalls) calls.add(call.callId);
    return { kind: "new", draft: item };
  });
  if (faults.length > 0) throw invalidFields(faults);
  return placements;
}

function requireSame(message: HashedMessage, item: HashedDraft, path: string): void {
  if (message.contentHash === item.contentHash) return;
  const { clientMessageId, toolCallId } = item.draft;
  const key = clientMessageId === message.clientMessageId && clientMessageId !== "" ? clientMessageId : toolCallId;
  throw new DroverError(
    "ALREADY_EXISTS",
    `${path}: message ${message.sequence} of the conversation has the key ${JSON.stringify(key)} and another content.`,
    { reason: "MESSAGE_EXISTS", metadata: { sequence: String(message.sequence) } },
  );
}

function referenceFaults(
  draft: MessageDraft,
  calls: ReadonlySet<string>,
  facts: LogFacts,
  path: string,
): FieldViolation[] {
  const faults: FieldViolation[] = [];
  for (const [index, call] of draft.toolCalls.entries()) {
    if (!calls.has(call.callId)) continue;
    const field = `${path}.tool_calls[${index}].call_id`;
    faults.push({ field, found: `${JSON.stringify(call.callId)}, used by another turn`, allowed: "a new id" });
  }
  if (draft.role === "tool" && !calls.has(draft.toolCallId)) {
    const found = `${JSON.stringify(draft.toolCallId)}, which no assistant message before it asks for`;
    faults.push({ field: `${path}.tool_call_id`, found, allowed: "the id of a call of this conversation" });
  }
  if (draft.spillPointer !== "") requirePointer(draft.spillPointer, facts, `${path}.spill_pointer`);
  return faults;
}

function requirePointer(pointer: string, facts: LogFacts, field: string): void {
  const callId = callIdOfPointer(facts.conversationId, pointer);
  if (callId !== undefined && facts.spilledCalls.has(callId)) return;
  throw invalidField(field, JSON.stringify(pointer.slice(0, 160)), "a pointer that PutSpill gave in this conversation");
}
