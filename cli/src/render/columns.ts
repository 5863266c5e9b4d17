import type { Palette } from "./palette.ts";
import { columnsOf, padded, wrap } from "./terminal-text.ts";

/** One row of a run: what stands in the gutter, the label, the text and the duration at the right edge. */
export interface Row {
  /** At most three columns, e.g. ` 1`. */
  readonly gutter?: string;
  readonly label: string;
  /** Columns the label takes at least, space after it included. */
  readonly labelColumns: number;
  readonly paintLabel?: (text: string) => string;
  readonly text: string;
  readonly duration?: string;
  /** The most lines the text may take. */
  readonly most: number;
}

const gutterColumns = 4;
const durationColumns = 10;
const leastText = 16;

/** The lines of a row; text that needs more than one goes on below its own beginning. */
export function rowLines(row: Row, width: number, palette: Palette): readonly string[] {
  const label = padded(`${row.label}${row.text === "" ? "" : "  "}`, row.labelColumns);
  const start = gutterColumns + columnsOf(label);
  const room = Math.max(leastText, width - start - durationColumns);
  const [first = "", ...rest] = wrap(row.text, room, row.most);
  const painted = (row.paintLabel ?? ((text: string) => text))(row.label) + label.slice(row.label.length);
  const gutter = palette.quiet(padded(row.gutter ?? "", gutterColumns));
  const duration = row.duration === undefined ? "" : row.duration.padStart(durationColumns);
  const line = `${gutter}${painted}${duration === "" ? first : padded(first, room)}${palette.quiet(duration)}`;
  return [line.trimEnd(), ...rest.map((text) => `${" ".repeat(start)}${text}`)];
}
