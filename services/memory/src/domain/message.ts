import type { ToolCall } from "@drover/model";

/** Who speaks in a conversation. */
type Role = "system" | "user" | "assistant" | "tool";

/** A message as a caller gives it, before the log has taken it. */
export interface MessageDraft {
  readonly role: Role;
  readonly text: string;
  /** Only on an assistant message. */
  readonly toolCalls: readonly ToolCall[];
  /** The call that a tool message answers; empty on every other role. */
  readonly toolCallId: string;
  /** Where the whole text is when `text` is a preview that the caller made; else empty. */
  readonly spillPointer: string;
  /** Size of the whole text in UTF-16 units; equals `text.length` where nothing was spilled. */
  readonly fullCharacters: number;
  /** Idempotency key within the conversation; empty where the caller gave none. */
  readonly clientMessageId: string;
  readonly pinned: boolean;
  readonly taskId: string;
}

/** A message of the log. Never changed after it was appended. */
export interface LoggedMessage extends MessageDraft {
  readonly id: string;
  /** Position within the conversation, from 1 without a gap. */
  readonly sequence: number;
  readonly createdAt: Date;
  /** Tokens that the message adds to a prompt, counted once at writing. */
  readonly tokens: number;
}
