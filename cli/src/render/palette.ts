/** Colours by what they mean; without colour every one of them gives the text back. */
export interface Palette {
  readonly good: (text: string) => string;
  readonly bad: (text: string) => string;
  readonly waiting: (text: string) => string;
  /** Beside the matter: numbers of rounds, durations, addresses. */
  readonly quiet: (text: string) => string;
}

const plain = (text: string) => text;

/** The palette of a terminal with or without colour (the 16 colours every terminal has). */
export function paletteOf(color: boolean): Palette {
  if (!color) return { good: plain, bad: plain, waiting: plain, quiet: plain };
  const paint = (on: number, off: number) => (text: string) => (text === "" ? "" : `\x1b[${on}m${text}\x1b[${off}m`);
  return { good: paint(32, 39), bad: paint(31, 39), waiting: paint(33, 39), quiet: paint(2, 22) };
}
