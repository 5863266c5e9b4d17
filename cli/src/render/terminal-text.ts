/** Characters that a terminal would act on, or that reorder what is read: C0, DEL, C1, bidi controls, line separators. */
const acting = /\p{Cc}|\p{Bidi_Control}|[\u2028\u2029]/gu;

const wide =
  /[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1b000}-\u{1b2ff}\u{20000}-\u{3fffd}]|\p{Emoji_Presentation}/u;

const noWidth = /\p{Mn}|\p{Me}|\p{Cf}/u;

const graphemes = new Intl.Segmenter(undefined, { granularity: "grapheme" });

/** Text from elsewhere as one harmless line: white space becomes a space, what a terminal would act on is escaped. */
export function oneLine(text: string): string {
  return escaped(text.replaceAll(/\s+/g, " ").trim());
}

/** Text from elsewhere as harmless lines: line breaks stay, a tab becomes two spaces, everything else is escaped. */
export function safeLines(text: string): readonly string[] {
  return text.split(/\r\n|\n|\r/).map((line) => escaped(line.replaceAll("\t", "  ")));
}

/** Columns that a terminal gives a text without control characters: two for East Asian wide ones and emoji. */
export function columnsOf(text: string): number {
  let columns = 0;
  for (const { segment } of graphemes.segment(text)) columns += columnsOfGrapheme(segment);
  return columns;
}

/** The text in at most `columns` columns, ending in `…` where it was cut. */
export function fit(text: string, columns: number): string {
  if (columnsOf(text) <= columns) return text;
  let used = 1;
  let kept = "";
  for (const { segment } of graphemes.segment(text)) {
    used += columnsOfGrapheme(segment);
    if (used > columns) break;
    kept += segment;
  }
  return columns < 1 ? "" : `${kept.trimEnd()}…`;
}

/** One line broken at spaces into lines of at most `columns`; at most `most` of them, the last ending in `…` where cut. */
export function wrap(text: string, columns: number, most: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const piece of text.split(" ").flatMap((word) => broken(word, columns))) {
    const longer = line === "" ? piece : `${line} ${piece}`;
    if (columnsOf(longer) <= columns) {
      line = longer;
      continue;
    }
    lines.push(line);
    line = piece;
  }
  lines.push(line);
  if (lines.length <= most) return lines;
  return [...lines.slice(0, most - 1), fit(`${lines.slice(most - 1).join(" ")}`, columns)];
}

/** The text filled up with spaces to `columns`; a longer one stays as it is. */
export function padded(text: string, columns: number): string {
  return text + " ".repeat(Math.max(0, columns - columnsOf(text)));
}

function escaped(text: string): string {
  return text.toWellFormed().replaceAll(acting, (character) => {
    const hex = character.charCodeAt(0).toString(16);
    return hex.length <= 2 ? `\\x${hex.padStart(2, "0")}` : `\\u${hex.padStart(4, "0")}`;
  });
}

function columnsOfGrapheme(grapheme: string): number {
  if (grapheme.length === 1 && grapheme <= "~") return 1;
  if (wide.test(grapheme) || grapheme.includes("\ufe0f")) return 2;
  return noWidth.test(grapheme) && [...grapheme].every((character) => noWidth.test(character)) ? 0 : 1;
}

function broken(word: string, columns: number): readonly string[] {
  if (columnsOf(word) <= columns) return [word];
  const pieces: string[] = [];
  let piece = "";
  for (const { segment } of graphemes.segment(word)) {
    if (piece !== "" && columnsOf(piece) + columnsOfGrapheme(segment) > columns) {
      pieces.push(piece);
      piece = "";
    }
    piece += segment;
  }
  return [...pieces, piece];
}
