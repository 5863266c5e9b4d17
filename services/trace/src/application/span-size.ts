import { attributesOf, errorOf } from "../domain/span.ts";
import type { SpanRow } from "./ports.ts";

/** About how many bytes a span is on the wire; never less than a fifth below. */
export function sizeOf(row: SpanRow): number {
  const { span } = row;
  let characters = (span.started?.name.length ?? 0) + errorOf(span).length + lengthOf(attributesOf(span));
  for (const event of row.events) characters += event.text.length + lengthOf(event.attributes) + 24;
  return 120 + bytesPerCharacter * characters;
}

/** Between one for ASCII and three for Chinese; the limit has room for the difference. */
const bytesPerCharacter = 2;

function lengthOf(attributes: Readonly<Record<string, string>>): number {
  let length = 0;
  for (const [key, value] of Object.entries(attributes)) length += key.length + value.length + 6;
  return length;
}
