/** A chat message as it arrives over the wire, after the strict check. */
export interface WireMessage {
  readonly role: "system" | "developer" | "user" | "assistant" | "tool";
  readonly content?: unknown;
  readonly tool_calls?: readonly WireToolCall[] | null;
  readonly tool_call_id?: string;
}

export interface WireToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A tool on offer as it arrives over the wire. */
export interface WireTool {
  readonly type: "function";
  readonly function: { readonly name: string; readonly description?: string; readonly parameters?: unknown };
}

/** A call that a script makes; an object is written as JSON, a string is sent as it is. */
export interface ScriptedCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>> | string;
}

/** What a script answers. Text and calls may come together; neither is an empty turn. */
export interface ScriptedTurn {
  readonly text?: string;
  /** Sent as `reasoning_content` before everything else. */
  readonly reasoning?: string;
  readonly toolCalls?: readonly ScriptedCall[];
  /** Wait before the first byte. */
  readonly delayMs?: number;
  /** Wait between two chunks of a stream. */
  readonly chunkDelayMs?: number;
  /** Another status than 200, sent with `errorMessage` in an OpenAI error object. */
  readonly status?: number;
  readonly errorMessage?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Default: `tool_calls` when there are calls, else `stop`. */
  readonly finishReason?: string;
  /** Drops the connection after this many chunks of a stream. */
  readonly dropAfterChunks?: number;
}

/** Facts about a request beside its messages and tools. */
export interface ScriptRequest {
  readonly model: string;
  readonly stream: boolean;
  /** How many chat requests this server has taken before. */
  readonly turn: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Decides the next turn from what the model is given, like a model does. */
export type Script = (
  messages: readonly WireMessage[],
  tools: readonly WireTool[],
  request: ScriptRequest,
) => ScriptedTurn | Promise<ScriptedTurn>;

/** The text of a message, whether it came as a string or as text parts. */
export function textOf(message: WireMessage): string {
  if (typeof message.content === "string") return message.content;
  if (!Array.isArray(message.content)) return "";
  return message.content.map((part) => (typeof part?.text === "string" ? part.text : "")).join("");
}

/** The last message of the user. */
export function lastUserText(messages: readonly WireMessage[]): string {
  const last = messages.findLast((message) => message.role === "user");
  return last === undefined ? "" : textOf(last);
}
