import type { DocumentParser } from "../application/ports.ts";
import type { Block } from "../domain/block.ts";

const paragraph = /[\s\S]*?(?:\n[^\S\n]*(?:\r?\n)[\s]*|$)/g;

/** Text without mark-up: paragraphs between empty lines. */
export const plainTextParser: DocumentParser = {
  mediaType: "text/plain",
  extensions: [".txt"],
  parse(source) {
    const blocks = Array.from(
      source.matchAll(paragraph),
      (match): Block => ({ kind: "prose", start: match.index, end: match.index + match[0].length }),
    );
    return { blocks: blocks.filter((block) => block.end > block.start) };
  },
};
