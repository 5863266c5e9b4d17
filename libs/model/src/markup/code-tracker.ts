/** Follows a text and tells whether what comes next stands in a fenced block or a code span of Markdown. */
export class CodeTracker {
  #fence: string | undefined;
  #line = "";
  #ticks = 0;

  feed(text: string): void {
    for (const [index, part] of text.split("\n").entries()) {
      if (index > 0) this.#endLine();
      if (part === "") continue;
      if (this.#line.length < mostOfLine) this.#line += part.slice(0, mostOfLine);
      for (let at = part.indexOf("`"); at >= 0; at = part.indexOf("`", at + 1)) this.#ticks++;
    }
  }

  get inside(): boolean {
    return this.#fence !== undefined || this.#ticks % 2 === 1 || /^ {0,3}~~~/.test(this.#line);
  }

  #endLine(): void {
    const mark = /^ {0,3}(`{3,}|~{3,})/.exec(this.#line)?.[1];
    if (mark !== undefined && this.#fence === undefined) this.#fence = mark;
    else if (mark?.startsWith(this.#fence ?? " ") && this.#line.trim() === mark) this.#fence = undefined;
    this.#line = "";
    this.#ticks = 0;
  }
}

/** Of a line so much is looked at for a fence. */
const mostOfLine = 300;
