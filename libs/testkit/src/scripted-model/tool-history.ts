import { textOf, type WireMessage } from "./script.ts";

/** A call that was made in this task together with its result as the model is shown it. */
export interface MadeCall {
  readonly name: string;
  readonly arguments: Readonly<Record<string, unknown>>;
  /** Unescaped where the result came as JSON text. */
  readonly result: string;
  /** False for a result that begins with ERROR. */
  readonly ok: boolean;
}

/** The answered calls after the `from`-th message, in order. */
export function madeCalls(messages: readonly WireMessage[], from: number): MadeCall[] {
  const later = messages.slice(from);
  const results = new Map(later.map((message) => [message.tool_call_id ?? "", textOf(message)]));
  return later
    .flatMap((message) => message.tool_calls ?? [])
    .flatMap((call) => {
      const result = results.get(call.id);
      if (result === undefined) return [];
      return [
        {
          name: call.function.name,
          arguments: argumentsOf(call.function.arguments),
          result: unescaped(result),
          ok: !/^\s*error\b/i.test(result),
        },
      ];
    });
}

function argumentsOf(json: string): Readonly<Record<string, unknown>> {
  try {
    const parsed: unknown = JSON.parse(json);
    return typeof parsed === "object" && parsed !== null ? { ...parsed } : {};
  } catch {
    return {};
  }
}

/** Text that stands inside a JSON string reads like the text itself. */
function unescaped(text: string): string {
  if (!/\\"|\\n/.test(text)) return text;
  return text.replaceAll("\\n", "\n").replaceAll("\\t", "\t").replaceAll('\\"', '"').replaceAll("\\\\", "\\");
}
