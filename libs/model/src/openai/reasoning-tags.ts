/** A part of a turn's content: what the model thought, or what it says. */
export interface ContentPiece {
  readonly kind: "reasoning" | "text";
  readonly text: string;
}

/** Tags between which models write their thoughts into the content: DeepSeek, Qwen and others; MiniMax. */
const names = ["think", "thinking", "mm:think"] as const;
const openers = names.map((name) => `<${name}>`);
const closers = names.map((name) => `</${name}>`);

/**
 * Parts the content of a turn as it streams. Thoughts stand between tags at its beginning, or right behind other thoughts;
 * tags elsewhere are text. Thoughts whose tag is never closed last to the end. Where a prompt template has opened the tag
 * and the model only closes it, what stands before it is told apart at the end alone: until then it was passed on as
 * text. A tag that comes in parts is held back until it is whole or is none.
 */
export class ReasoningTags {
  #state: "start" | "thoughts" | "text" = "start";
  #closer = "";
  #held = "";
  #text = "";
  #reasoning = "";
  #opened = false;

  /** The parts of what came now. */
  push(content: string): readonly ContentPiece[] {
    this.#held += content;
    const pieces: ContentPiece[] = [];
    for (let piece = this.#next(); piece !== undefined; piece = this.#next()) {
      if (piece.text === "") continue;
      if (piece.kind === "text") this.#text += piece.text;
      else this.#reasoning += piece.text;
      pieces.push(piece);
    }
    return pieces;
  }

  /** The whole, once the turn is over. */
  finish(): { readonly text: string; readonly reasoning: string } {
    const inThoughts = this.#state === "thoughts";
    const text = inThoughts ? this.#text : this.#text + this.#held;
    const reasoning = inThoughts ? this.#reasoning + this.#held : this.#reasoning;
    const closed = this.#opened ? undefined : closedOnly(text);
    if (closed === undefined) return { text, reasoning };
    return { text: text.slice(closed.end).trimStart(), reasoning: reasoning + text.slice(0, closed.begin) };
  }

  /** The next part of what is held; undefined where more must come first. */
  #next(): ContentPiece | undefined {
    if (this.#held === "") return undefined;
    switch (this.#state) {
      case "start":
        return this.#begin();
      case "thoughts":
        return this.#think();
      case "text":
        return { kind: "text", text: this.#take(this.#held.length) };
    }
  }

  #begin(): ContentPiece | undefined {
    const begun = this.#held.trimStart();
    const tag = openers.findIndex((opener) => begun.startsWith(opener));
    if (tag >= 0) {
      this.#take(this.#held.length - begun.length + (openers[tag]?.length ?? 0));
      this.#state = "thoughts";
      this.#opened = true;
      this.#closer = closers[tag] ?? "";
      return { kind: "reasoning", text: "" };
    }
    if (openers.some((opener) => opener.startsWith(begun))) return undefined;
    this.#state = "text";
    // Behind thoughts white space is no part of the answer.
    return {
      kind: "text",
      text: this.#opened ? this.#take(this.#held.length).trimStart() : this.#take(this.#held.length),
    };
  }

  #think(): ContentPiece | undefined {
    const end = this.#held.indexOf(this.#closer);
    if (end < 0) {
      const text = this.#take(this.#held.length - partOf(this.#closer, this.#held));
      return text === "" ? undefined : { kind: "reasoning", text };
    }
    const text = this.#take(end);
    this.#take(this.#closer.length);
    this.#state = "start";
    return { kind: "reasoning", text };
  }

  #take(length: number): string {
    const taken = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    return taken;
  }
}

/** How many characters at the end of a text may become the tag. */
function partOf(tag: string, text: string): number {
  for (let length = Math.min(tag.length - 1, text.length); length > 0; length--) {
    if (text.endsWith(tag.slice(0, length))) return length;
  }
  return 0;
}

/** The first closing tag of a text without an opening one; none inside code, where it is what the text is about. */
function closedOnly(text: string): { readonly begin: number; readonly end: number } | undefined {
  const found = /<\/(?:think|thinking|mm:think)>/.exec(text);
  if (found === null) return undefined;
  const before = text.slice(0, found.index);
  const inFence = (before.match(/^ {0,3}(?:```|~~~)/gm) ?? []).length % 2 === 1;
  const inSpan = (before.slice(before.lastIndexOf("\n") + 1).match(/`/g) ?? []).length % 2 === 1;
  const opened = openers.some((opener) => before.includes(opener));
  return inFence || inSpan || opened ? undefined : { begin: found.index, end: found.index + found[0].length };
}
