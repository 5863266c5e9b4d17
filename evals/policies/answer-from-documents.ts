import type { Script } from "@drover/testkit/scripted-model";
import { lastUserText, seenIn } from "./seen.ts";

/** Searches with the words of the question and answers with the best passage, cited; says so where there is none. */
export const answerFromDocuments: Script = (messages) => {
  const search = seenIn(messages).findLast(({ tool }) => tool === "search_documents")?.text;
  if (search === undefined) {
    return { toolCalls: [{ name: "search_documents", arguments: { query: lastUserText(messages), limit: 3 } }] };
  }
  const passage = /\n\[1\] (.+?) \(characters .+\)\n([\s\S]*?)(?:\n\n\[2\] |$)/.exec(search);
  if (passage === null) return { text: "The documents say nothing about it." };
  return { text: `${passage[2]?.trim()} [1] (${passage[1]})` };
};
