import type { WireMessage } from "@drover/testkit/scripted-model";

/** A result that the model was shown, with the tool that gave it. */
export interface Seen {
  readonly tool: string;
  readonly text: string;
}

/** Every tool result in a request, oldest first. */
export function seenIn(messages: readonly WireMessage[]): readonly Seen[] {
  const tools = new Map(
    messages.flatMap((message) => (message.tool_calls ?? []).map((call) => [call.id, call.function.name] as const)),
  );
  return messages
    .filter((message) => message.role === "tool")
    .map((message) => ({ tool: tools.get(message.tool_call_id ?? "") ?? "", text: String(message.content) }));
}

/** The newest words of the user. */
export function lastUserText(messages: readonly WireMessage[]): string {
  return String(messages.findLast((message) => message.role === "user")?.content ?? "");
}

/** The first group of a pattern in a text; empty where it does not match. */
export function found(pattern: RegExp, text: string): string {
  return pattern.exec(text)?.[1] ?? "";
}
