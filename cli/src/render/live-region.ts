const frames = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏";

/** Lines at the bottom of a terminal that are drawn over again until something lasting is printed. */
export interface LiveRegion extends Disposable {
  /** Prints lasting lines above the region. */
  print(lines: readonly string[]): void;
  /** Takes the region off the screen; it comes back with the next frame. */
  clear(): void;
}

/**
 * A region that draws `lines(spinner)` ten times a second; none of them may be as wide as the terminal.
 * Where `live` is false nothing is ever redrawn and only `print` writes. Disposing clears it and stops its timer.
 */
export function createLiveRegion(options: {
  readonly write: (text: string) => void;
  readonly live: boolean;
  readonly lines: (spinner: string) => readonly string[];
}): LiveRegion {
  let drawn = 0;
  let frame = 0;
  // What a terminal echoes of a key, such as ^C, stands in the line of the cursor: back to its beginning first.
  const erase = () => (drawn === 0 ? "" : `\r\x1b[${drawn}A\x1b[J`);
  const clear = () => {
    const text = erase();
    drawn = 0;
    if (text !== "") options.write(text);
  };
  const draw = () => {
    const lines = options.lines(frames[frame++ % frames.length] ?? "");
    if (lines.length === 0 && drawn === 0) return;
    const text = erase() + lines.map((line) => `${line}\n`).join("");
    drawn = lines.length;
    options.write(text);
  };
  const timer = options.live ? setInterval(draw, 100).unref() : undefined;
  return {
    print(lines) {
      if (lines.length === 0) return;
      const text = erase() + lines.map((line) => `${line}\n`).join("");
      drawn = 0;
      options.write(text);
    },
    clear,
    [Symbol.dispose]() {
      clearInterval(timer);
      clear();
    },
  };
}
