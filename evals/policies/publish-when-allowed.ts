import type { Script } from "@drover/testkit/scripted-model";
import { seenIn } from "./seen.ts";

/** Drafts, then publishes, and tells which of the two was allowed. */
export const publishWhenAllowed: Script = (messages) => {
  const writes = seenIn(messages).filter(({ tool }) => tool === "write_file");
  const write = (path: string) => ({
    toolCalls: [{ name: "write_file", arguments: { path, content: "Version 2 is out.\n" } }],
  });
  if (writes.length === 0) return write("/workspace/draft/notes.md");
  if (writes.length === 1) return write("/workspace/public/notes.md");
  const published = writes[1]?.text.startsWith("OK") === true;
  return { text: published ? "The notes are published." : "The notes are a draft only: publishing was denied." };
};
