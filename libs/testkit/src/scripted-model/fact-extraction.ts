import { type Script, type ScriptedTurn, textOf, type WireMessage } from "./script.ts";

const task = "You keep the long-term memory of an assistant.";

/** True for the question of the memory service for the facts in what was said. */
export function asksForFacts(messages: readonly WireMessage[]): boolean {
  const [first] = messages;
  return first?.role === "system" && textOf(first).startsWith(task);
}

/**
 * Takes as facts what a person asks to be remembered ("Remember that …", "I prefer …"), and no other word. What is
 * known is named, not added again. Refuses a question whose document is not of the agreed form, as nobody else would
 * notice that.
 */
export const rememberScript: Script = (messages) => {
  const asked = documentIn(messages[1]);
  if (asked === undefined) return { status: 400, errorMessage: "The document holds no lists `known` and `said`." };
  const facts = asked.said
    .filter(({ speaker }) => speaker === "person")
    .flatMap(({ text, sequence }) => statements(text).map((statement) => ({ statement, sequence })))
    .map(({ statement, sequence }) => {
      const known = asked.known.find(({ text }) => text === statement);
      if (known !== undefined) return { op: "none", id: known.id };
      return { op: "add", scope: "user", text: statement, importance: 80, source: sequence };
    });
  return { text: JSON.stringify({ facts }) } satisfies ScriptedTurn;
};

interface AskedDocument {
  readonly known: readonly { readonly id: string; readonly text: string }[];
  readonly said: readonly { readonly sequence: number; readonly speaker: string; readonly text: string }[];
}

function documentIn(message: WireMessage | undefined): AskedDocument | undefined {
  if (message?.role !== "user") return undefined;
  try {
    const { known, said } = JSON.parse(textOf(message)) as Partial<AskedDocument>;
    return Array.isArray(known) && Array.isArray(said) ? { known, said } : undefined;
  } catch {
    return undefined;
  }
}

function statements(text: string): string[] {
  const sentences = text.match(/[^.!?\n]+/g) ?? [];
  return sentences.flatMap((sentence) => {
    const fact = /\bremember that (.+)/i.exec(sentence)?.[1] ?? /\b(I prefer .+)/i.exec(sentence)?.[1];
    return fact === undefined ? [] : [fact.trim()];
  });
}
