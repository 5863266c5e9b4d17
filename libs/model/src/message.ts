/** One call of a tool that the model asked for. */
export interface ToolCall {
  /** Our own id (UUIDv7), unique over all turns; the idempotency key of the call. */
  readonly callId: string;
  /** The id the provider gave; only echoed back to it. Unique within its turn, never trusted beyond it. */
  readonly providerCallId: string;
  readonly name: string;
  /** The argument text as the model wrote it, slips repaired; usually, but not certainly, a JSON object. */
  readonly argumentsJson: string;
  /** The model wrote it into its text, where it was found. */
  readonly recovered?: true;
}

export interface SystemMessage {
  readonly role: "system";
  readonly text: string;
}

export interface UserMessage {
  readonly role: "user";
  readonly text: string;
}

/** A turn of the model: text, tool calls, or both; never neither. */
export interface AssistantMessage {
  readonly role: "assistant";
  readonly text: string;
  readonly toolCalls: readonly ToolCall[];
}

/** The result of one tool call, named by our own id. */
export interface ToolMessage {
  readonly role: "tool";
  readonly callId: string;
  readonly text: string;
}

/** One message of a conversation, in no provider's format. */
export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage;
