import type { LoggedMessage, MessageDraft } from "../domain/message.ts";

/** On whose behalf the log is used: conversations belong to one subject of one tenant. */
export interface Owner {
  readonly tenant: string;
  readonly subject: string;
}

/** A message ready to be written. */
export interface PreparedMessage {
  readonly draft: MessageDraft;
  readonly tokens: number;
  /** Hash of what the caller sent, before anything was cut; tells a repetition from another content. */
  readonly contentHash: string;
  /** The whole text of a tool result that `draft.text` is only the preview of. */
  readonly spill: PreparedSpill | undefined;
}

/** A body ready to be stored beside the log. */
export interface PreparedSpill {
  readonly callId: string;
  readonly text: string;
  readonly sizeBytes: number;
  readonly contentHash: string;
}

/** What the newest part of a conversation is. */
interface RecentMessages {
  /** Pinned messages and the newest ones, in order of their sequence. */
  readonly messages: readonly LoggedMessage[];
  /** Newest sequence of the log at the moment of reading. */
  readonly throughSequence: number;
}

/**
 * The log of conversations. Every method answers NOT_FOUND for a conversation that does not exist or
 * belongs to somebody else, in the same words.
 */
export interface ConversationLog {
  /**
   * Appends in order, in one transaction, and makes the conversation where it is new. A message whose
   * client_message_id or tool_call_id is there already is not written again: the stored one is given
   * back, or ALREADY_EXISTS thrown where its content differs. Sequences have no gap. INVALID_ARGUMENT
   * for a result without its call, a call id that another turn used, or a pointer that does not resolve;
   * `field` is the path of the messages in the request.
   */
  append(
    owner: Owner,
    conversationId: string,
    messages: readonly PreparedMessage[],
    field: string,
    signal: AbortSignal,
  ): Promise<LoggedMessage[]>;
  /** At most `limit` messages with a sequence above `after`. */
  list(
    owner: Owner,
    conversationId: string,
    after: number,
    limit: number,
    signal: AbortSignal,
  ): Promise<LoggedMessage[]>;
  /** Pinned messages and, from the end on, as many as hold at least `tokens` tokens. */
  recent(owner: Owner, conversationId: string, tokens: number, signal: AbortSignal): Promise<RecentMessages>;
}

/** A range of a stored body. */
export interface SpillRange {
  readonly text: string;
  readonly offset: number;
  readonly totalCharacters: number;
}

/** What is known of a stored body. */
export interface StoredSpill {
  readonly sizeBytes: number;
  readonly characters: number;
}

/** Large bodies beside the log; the same rules of ownership as {@link ConversationLog}. */
export interface SpillStore {
  /** Stores a body and makes its conversation where it is new. The same body again changes nothing; another is ALREADY_EXISTS. */
  put(owner: Owner, conversationId: string, spill: PreparedSpill, signal: AbortSignal): Promise<StoredSpill>;
  /**
   * At most `length` characters from `offset` on (from the end where it is negative) of the body of a
   * call; of a result that was never spilled, of its text. Undefined when there is no such call here.
   */
  read(
    owner: Owner,
    conversationId: string,
    callId: string,
    range: { readonly offset: number; readonly length: number },
    signal: AbortSignal,
  ): Promise<SpillRange | undefined>;
}

/** Counts tokens as the model would. */
export interface TokenCounter {
  /** Tokens that the message adds to a prompt. Gives way to other work between pieces of a long text. */
  message(draft: MessageDraft, signal: AbortSignal): Promise<number>;
  /** Tokens that a short text adds as a tool result. */
  toolText(text: string): number;
}
