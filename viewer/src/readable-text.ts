/** A line of indented JSON that holds one string: indent, key where it has one, the string, comma. */
const stringLine = /^( *)("(?:[^"\\]|\\.)*": )?("(?:[^"\\]|\\.)*"),?$/gm;

/**
 * A payload as a person reads it: JSON is indented, and its texts of several lines (programs, messages)
 * stand below their key as they are. Everything else is returned unchanged.
 */
export function readableText(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  let indented: string;
  try {
    indented = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
  return indented.replaceAll(stringLine, (line, indent: string, key: string | undefined, literal: string) => {
    const value: unknown = JSON.parse(literal);
    if (typeof value !== "string" || !value.trimEnd().includes("\n")) return line;
    const inner = `\n${indent}  `;
    return `${indent}${key === undefined ? "-" : key.trimEnd()}${inner}${value.trimEnd().replaceAll("\n", inner)}`;
  });
}
