import { headOf } from "@drover/kernel";
import type { LoggedMessage } from "./message.ts";

/** A message that facts may be taken from. */
export interface SourceMessage {
  readonly sequence: number;
  readonly speaker: "person" | "assistant";
  readonly text: string;
}

/** Characters of one message, and of all together, that a model is shown. */
const messageCharacters = 4_000;
const totalCharacters = 40_000;

/** Blocks that were put into a message for the model to read; nobody said them. */
const injected = ["system-reminder", "long-term-memory"] as const;

/**
 * What was said in a task's messages, oldest first: the person's words (pinned; what the loop itself tells the model
 * is not) and the assistant's. No tool results, no system text, nothing that was put in from memory: a fact would
 * come back as its own proof. Of too much, the first message and the newest stay.
 */
export function sourceOf(messages: readonly LoggedMessage[]): readonly SourceMessage[] {
  const said = messages.flatMap((message): SourceMessage[] => {
    const { role, pinned, sequence } = message;
    if (role !== "assistant" && !(role === "user" && pinned)) return [];
    const text = headOf(withoutInjected(message.text).trim(), messageCharacters);
    return text === "" ? [] : [{ sequence, speaker: role === "user" ? "person" : "assistant", text }];
  });
  const [first, ...rest] = said;
  // What an assistant says to nobody is about nobody.
  if (first === undefined || !said.some(({ speaker }) => speaker === "person")) return [];
  let room = totalCharacters - first.text.length;
  const newest: SourceMessage[] = [];
  for (const message of rest.toReversed()) {
    room -= message.text.length;
    if (room < 0) break;
    newest.push(message);
  }
  return [first, ...newest.reverse()];
}

/** The text without marked blocks; one that is not closed goes to the end. */
export function withoutInjected(text: string): string {
  return injected.reduce(withoutBlocks, text);
}

function withoutBlocks(text: string, name: string): string {
  const open = `<${name}`;
  const close = `</${name}>`;
  const kept: string[] = [];
  let at = 0;
  for (;;) {
    const start = text.indexOf(open, at);
    if (start < 0) return kept.join("") + text.slice(at);
    kept.push(text.slice(at, start));
    const end = text.indexOf(close, start);
    if (end < 0) return kept.join("");
    at = end + close.length;
  }
}
