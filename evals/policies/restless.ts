import type { Script } from "@drover/testkit/scripted-model";
import { seenIn } from "./seen.ts";

/** Never has enough: looks at one number after the other for as long as it has tools. */
export const restless: Script = (messages, tools) => {
  const looked = seenIn(messages).filter(({ text }) => text.startsWith("OK")).length;
  if (tools.length === 0) return { text: `I looked at ${looked} parts and found nothing unusual in them.` };
  return { toolCalls: [{ name: "grep", arguments: { pattern: `part ${looked}`, path: "/workspace" } }] };
};
