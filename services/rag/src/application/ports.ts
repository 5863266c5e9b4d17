import type { ParsedDocument } from "../domain/block.ts";

/** Makes blocks of one kind of document. Pure; takes time linear in the text. */
export interface DocumentParser {
  readonly mediaType: string;
  /** In lower case, with the dot. */
  readonly extensions: readonly string[];
  parse(source: string): ParsedDocument;
}
