/** Words after which a command follows. */
const keywords = new Set([
  "if",
  "then",
  "else",
  "elif",
  "while",
  "until",
  "do",
  "{",
  "!",
  "time",
  "fi",
  "done",
  "}",
  "esac",
]);
/** Commands that run the command in their arguments. */
const wrappers = new Set(["env", "nohup", "exec", "command", "builtin", "nice", "time", "xargs", "sudo"]);
const assignment = /^[A-Za-z_][A-Za-z0-9_]*\+?=/;

/**
 * The names of the commands in a line of shell, also those behind `;`, `&&`, `|`, `$()`, backquotes and
 * `env X=1`. A guard against mistakes, not a boundary: what a program does is not seen here, and a name
 * that is only known when it runs stands here as it is written.
 */
export function commandNames(command: string): ReadonlySet<string> {
  const names = new Set<string>();
  const scan = new Scan(command, names);
  while (!scan.over) scan.list("");
  return names;
}

/** Reads lists of commands; nested ones by recursion. */
class Scan {
  readonly #text: string;
  readonly #names: Set<string>;
  #at = 0;

  constructor(text: string, names: Set<string>) {
    this.#text = text;
    this.#names = names;
  }

  get over(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Reads to `end` or the end of the text. */
  list(end: string): void {
    let named = false;
    let target = false;
    while (!this.over) {
      const char = this.#text.charAt(this.#at);
      if (char === end) return void this.#at++;
      if (char === " " || char === "\t") this.#at++;
      else if (char === "#") this.#comment();
      else if (";&|()\n".includes(char)) {
        // `>&` and `<&` belong to the redirection.
        named = char === "&" && target;
        target = false;
        this.#at++;
      } else if (char === "<" || char === ">") {
        target = this.#redirection();
      } else {
        const word = this.#word(end);
        named = target ? named : this.#take(word, named);
        target = false;
      }
    }
  }

  /** True where the next word is a file; a `<(…)` is a command. */
  #redirection(): boolean {
    this.#at++;
    if (this.#text.charAt(this.#at) !== "(") return true;
    this.#nested(")");
    return false;
  }

  /** True where the words that follow are arguments. */
  #take(word: string, named: boolean): boolean {
    if (named || word === "" || assignment.test(word)) return named;
    if (keywords.has(word) || word.startsWith("-") || /^\d+$/.test(word)) return false;
    this.#names.add(word);
    return !wrappers.has(word);
  }

  #comment(): void {
    while (!this.over && this.#text.charAt(this.#at) !== "\n") this.#at++;
  }

  #nested(end: string): void {
    this.#at++;
    this.list(end);
  }

  #word(end: string): string {
    let word = "";
    while (!this.over) {
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
    if (char === "$" && this.#text.charAt(this.#at + 1) === "(") {
      this.#at++;
      this.#nested(")");
      return "$()";
    }
    this.#at += char === "\\" ? 2 : 1;
    return char === "\\" ? this.#text.charAt(this.#at - 1) : char;
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
    while (!this.over && this.#text.charAt(this.#at) !== '"') {
      const char = this.#text.charAt(this.#at);
      if (char === "'") {
        inside += char;
        this.#at++;
      } else inside += this.#piece(char);
    }
    this.#at++;
    return inside;
  }
}
