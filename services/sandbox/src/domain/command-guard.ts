import { CommandLine } from "./command-line.ts";

/**
 * The names of the commands in a line of shell, also those behind `;`, `&&`, `|`, in subshells, functions, `$()`,
 * backquotes, here-documents, and those that `env X=1`, `command`, `exec`, `xargs`, `find -exec` or `eval` run: of such
 * a pair both count. A function that the line defines is none, what is in it counts. A guard against mistakes, not a
 * boundary: what a program does is not seen here, and a name that is only known when it runs stands here as it is written.
 */
export function commandNames(command: string): ReadonlySet<string> {
  return new ShellText(command).names();
}

/** What is allowed where the configuration and the caller each may name commands; undefined where neither does. */
export function allowedCommands(
  configured: ReadonlySet<string>,
  asked: readonly string[],
): ReadonlySet<string> | undefined {
  if (asked.length === 0) return configured.size === 0 ? undefined : configured;
  return new Set(configured.size === 0 ? asked : asked.filter((name) => configured.has(name)));
}

interface HereDocument {
  readonly end: string;
  /** Nothing in it is expanded. */
  readonly literal: boolean;
  readonly indented: boolean;
}

/** Reads shell as far as is needed to tell commands from their arguments. */
class ShellText {
  readonly #text: string;
  readonly #names = new Set<string>();
  /** Used in a function's body, where also what is defined later can be meant. */
  readonly #inBodies = new Set<string>();
  readonly #functions = new Set<string>();
  readonly #documents: HereDocument[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  names(): ReadonlySet<string> {
    while (!this.#over) this.#list("");
    for (const name of this.#inBodies) if (!this.#functions.has(name)) this.#names.add(name);
    return this.#names;
  }

  get #over(): boolean {
    return this.#at >= this.#text.length;
  }

  #is(text: string): boolean {
    return this.#text.startsWith(text, this.#at);
  }

  /** Reads to `end` or the end of the text. */
  #list(end: string): void {
    const line = new CommandLine((name, inBody) => this.#note(name, inBody));
    while (!this.#over) {
      const char = this.#text.charAt(this.#at);
      if (char === end && !line.inPattern) {
        this.#at++;
        break;
      }
      if (char === " " || char === "\t") this.#at++;
      else if (this.#is("\\\n")) this.#at += 2;
      else if (char === "#") this.#comment();
      else if (this.#is("&>")) this.#at++;
      else if (char === "<" || char === ">") this.#redirection(line);
      else if (";&|()\n".includes(char)) this.#separator(char, line);
      else this.#argument(line, end);
    }
    this.#evaluate(line);
  }

  #note(name: string, inBody: boolean): void {
    if (this.#functions.has(name)) return;
    (inBody ? this.#inBodies : this.#names).add(name);
  }

  #separator(char: string, line: CommandLine): void {
    if (char === "(" && !line.inPattern) {
      if (!this.#is("((") || !this.#arithmetic()) this.#nested(")");
      return;
    }
    const clause = [";;&", ";;", ";&"].find((text) => this.#is(text));
    this.#at += clause?.length ?? 1;
    this.#evaluate(line);
    line.separate(clause === undefined ? char : ";;");
    if (char === "\n") this.#hereDocuments();
  }

  /** What `eval` got is a command again. */
  #evaluate(line: CommandLine): void {
    const text = line.evaluated();
    if (text !== "") for (const name of commandNames(text)) this.#note(name, line.inBody);
  }

  #argument(line: CommandLine, end: string): void {
    const word = this.#word(end);
    if (/^[A-Za-z_][A-Za-z0-9_]*\+?=$/.test(word) && this.#is("(")) {
      this.#words(")");
      return;
    }
    const call = /^[ \t]*\([ \t]*\)/.exec(this.#text.slice(this.#at, this.#at + 200));
    if (call !== null && line.beginsCommand) {
      this.#at += call[0].length;
      this.#functions.add(word);
      line.define();
      return;
    }
    if (/^\d+$/.test(word) && (this.#is("<") || this.#is(">"))) return;
    const defined = line.take(word);
    if (defined === "[[") this.#words("]]");
    else if (defined !== undefined) this.#functions.add(defined);
  }

  /** Words that are no commands, to `end`. */
  #words(end: string): void {
    while (!this.#over && !this.#is(end)) this.#piece(this.#text.charAt(this.#at));
    this.#at += end.length;
  }

  #redirection(line: CommandLine): void {
    if (this.#is("<(") || this.#is(">(")) {
      this.#at++;
      this.#nested(")");
      return;
    }
    if (this.#is("<<") && !this.#is("<<<")) {
      this.#document();
      return;
    }
    while ("<>&|".includes(this.#text.charAt(this.#at) || " ")) this.#at++;
    line.target();
  }

  #document(): void {
    this.#at += 2;
    const indented = this.#is("-");
    if (indented) this.#at++;
    while (this.#is(" ") || this.#is("\t")) this.#at++;
    const from = this.#at;
    const end = this.#word("");
    this.#documents.push({ end, indented, literal: /['"\\]/.test(this.#text.slice(from, this.#at)) });
  }

  #hereDocuments(): void {
    for (const { end, literal, indented } of this.#documents.splice(0)) {
      const lines: string[] = [];
      while (!this.#over) {
        const stop = this.#text.indexOf("\n", this.#at);
        const line = this.#text.slice(this.#at, stop < 0 ? this.#text.length : stop);
        this.#at = stop < 0 ? this.#text.length : stop + 1;
        if ((indented ? line.replace(/^\t+/, "") : line) === end) break;
        lines.push(line);
      }
      if (literal) continue;
      for (const name of new ShellText(lines.join("\n")).#expanded()) this.#note(name, false);
    }
  }

  /** The commands in the expansions of a text that is not a command itself. */
  #expanded(): ReadonlySet<string> {
    while (!this.#over) this.#quotedPiece();
    return this.names();
  }

  #comment(): void {
    while (!this.#over && !this.#is("\n")) this.#at++;
  }

  #nested(end: string): void {
    this.#at++;
    this.#list(end);
  }

  /** Skips `((…))`; false, and nothing is skipped, where it is a subshell in a subshell. */
  #arithmetic(): boolean {
    const from = this.#at;
    this.#at += 2;
    for (let depth = 0; !this.#over; ) {
      if (depth === 0 && this.#is(")")) {
        if (this.#is("))")) {
          this.#at += 2;
          return true;
        }
        break;
      }
      if (this.#is("(")) depth++;
      if (this.#is(")")) depth--;
      this.#piece(this.#text.charAt(this.#at));
    }
    this.#at = from;
    return false;
  }

  #word(end: string): string {
    let word = "";
    while (!this.#over) {
      const char = this.#text.charAt(this.#at);
      if (char === end || " \t\n;&|()<>".includes(char)) return word;
      word += this.#piece(char);
    }
    return word;
  }

  #piece(char: string): string {
    if (char === "'") return this.#until("'");
    if (char === '"') return this.#quoted();
    if (char === "`") {
      this.#nested("`");
      return "`";
    }
    if (char === "$") return this.#expansion();
    this.#at += char === "\\" ? 2 : 1;
    return char === "\\" ? this.#text.charAt(this.#at - 1).replace("\n", "") : char;
  }

  #expansion(): string {
    const from = this.#at++;
    if (this.#is("((") && this.#arithmetic()) return "$(())";
    if (this.#is("(")) {
      this.#nested(")");
      return "$()";
    }
    if (this.#is("'")) return this.#until("'");
    if (this.#is("{")) this.#words("}");
    return this.#text.slice(from, this.#at);
  }

  #until(quote: string): string {
    const close = this.#text.indexOf(quote, this.#at + 1);
    const stop = close < 0 ? this.#text.length : close;
    const inside = this.#text.slice(this.#at + 1, stop);
    this.#at = stop + 1;
    return inside;
  }

  #quoted(): string {
    this.#at++;
    let inside = "";
    while (!this.#over && !this.#is('"')) inside += this.#quotedPiece();
    this.#at++;
    return inside;
  }

  #quotedPiece(): string {
    const char = this.#text.charAt(this.#at);
    if (char !== "'" && char !== '"' && !this.#is("$'")) return this.#piece(char);
    this.#at++;
    return char;
  }
}
