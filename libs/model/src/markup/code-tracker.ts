/**
 * Follows a text and tells whether what comes next stands in a fenced block or a code span of Markdown. A span lasts from
 * a run of backticks to the next run of as many, or to the end of its line.
 */
export class CodeTracker {
  #fence: string | undefined;
  #line = "";
  /** Backticks that opened the span; 0 outside of one. */
  #span = 0;
  /** Backticks that were read last, one after the other. */
  #run = 0;

  feed(text: string): void {
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) this.#endLine();
      if (this.#line.length < mostOfLine) this.#line += part.slice(0, mostOfLine);
      for (let at = 0; at < part.length; at++) {
        if (part.charAt(at) === "`") this.#run++;
        else this.#endRun();
      }
    }
  }

  get inside(): boolean {
    return this.#fence !== undefined || this.#after(this.#run) > 0 || /^ {0,3}~~~/.test(this.#line);
  }

  /** The span that is open behind a run of so many backticks. */
  #after(run: number): number {
    if (run === 0) return this.#span;
    if (this.#span === 0) return run;
    return this.#span === run ? 0 : this.#span;
  }

  #endRun(): void {
    this.#span = this.#after(this.#run);
    this.#run = 0;
  }

  #endLine(): void {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(this.#line)?.[1];
    if (mark !== undefined && this.#fence === undefined) this.#fence = mark;
    else if (mark?.startsWith(this.#fence ?? " ") && this.#line.trim() === mark) this.#fence = undefined;
    this.#line = "";
    this.#span = 0;
    this.#run = 0;
  }
}

/** Of a line so much is looked at for a fence. */
const mostOfLine = 300;
