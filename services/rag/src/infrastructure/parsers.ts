import type { DocumentParser } from "../application/ports.ts";
import { markdownParser } from "./markdown-parser.ts";
import { plainTextParser } from "./plain-text-parser.ts";

/** Every kind of document that can be taken in; what is not here is refused by its extension. */
export const parsers: readonly DocumentParser[] = [markdownParser, plainTextParser];
