import { headOf } from "@drover/kernel";

/** Name of the tool that reads a pointer, as the model sees it. */
const readingTool = "read_spill";

/**
 * What the model sees instead of a large tool result: its first `previewCharacters` and a note that
 * says what was cut, the whole size, the pointer, and the tool that reads it. A pure function of the
 * stored text, so that the same message reads the same in every context.
 */
export function previewOf(text: string, pointer: string, previewCharacters: number): string {
  const head = headOf(text, previewCharacters);
  return `${head}\n\n${cutNote(head.length, text.length, pointer)}`;
}

function cutNote(shown: number, whole: number, pointer: string): string {
  return (
    `[Cut: these are the first ${number(shown)} of ${number(whole)} characters. ` +
    `The rest is stored at ${pointer}; read it with the tool ${readingTool}, ` +
    `for example from offset ${shown} on.]`
  );
}

function number(value: number): string {
  return value.toLocaleString("en-US");
}
