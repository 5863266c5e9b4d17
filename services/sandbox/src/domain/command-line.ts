/** Words after which a command follows. */
const keywords = new Set(
  ["if", "then", "else", "elif", "while", "until", "do", "!", "time", "fi", "done", "coproc"].concat(
    // They steer the shell and start nothing.
    ["break", "continue", "return", "shift"],
  ),
);
/** Commands that run the command in their arguments, with their options that take a value. */
const wrappers: Readonly<Record<string, string>> = {
  env: "uC",
  nohup: "",
  exec: "a",
  command: "",
  builtin: "",
  nice: "n",
  ionice: "cn",
  xargs: "nIPLdEsa",
  sudo: "ugCDhpRrTtU",
  timeout: "sk",
  setsid: "",
  stdbuf: "ioe",
};
const assignment = /^[A-Za-z_][A-Za-z0-9_]*(\[[^\]]*\])?\+?=/;
const duration = /^\d+(\.\d+)?[smhd]?$/;
const findRuns = new Set(["-exec", "-execdir", "-ok", "-okdir"]);

/** One list of commands, word by word: which words are names of commands. */
export class CommandLine {
  readonly #note: (name: string, inBody: boolean) => void;
  /** One of each open `{`: whether it is a function's. */
  readonly #braces: boolean[] = [];
  #state: "command" | "arguments" | "subject" | "pattern" | "function" = "command";
  #cases = 0;
  #wrapper = "";
  #command = "";
  #skip = false;
  #target = false;
  #defined = false;
  #evaluated: string[] = [];

  /** `note` is told each name, and whether it stands in the body of a function. */
  constructor(note: (name: string, inBody: boolean) => void) {
    this.#note = note;
  }

  /** In a pattern of `case` a closing parenthesis ends no list. */
  get inPattern(): boolean {
    return this.#state === "pattern";
  }

  get inBody(): boolean {
    return this.#braces.includes(true);
  }

  /** The next word is the name of a command. */
  get beginsCommand(): boolean {
    return this.#state === "command" && !this.#target && this.#wrapper === "";
  }

  /** A function was defined; its body follows. */
  define(): void {
    this.#defined = true;
  }

  /** The next word is where a stream goes. */
  target(): void {
    this.#target = true;
  }

  /** What `eval` got since it was asked for. */
  evaluated(): string {
    return this.#evaluated.splice(0).join(" ");
  }

  /** `;`, `&`, `|`, `)`, a newline, or `;;` for what ends a clause of `case`. */
  separate(by: string): void {
    this.#target = false;
    if (this.#state === "subject" || (this.#state === "pattern" && by !== ")")) return;
    this.#state = by === ";;" && this.#cases > 0 ? "pattern" : "command";
    this.#wrapper = this.#command = "";
    this.#skip = false;
  }

  /** Gives the name of a function that the word defines, or `[[` where words follow that are no commands. */
  take(word: string): string | undefined {
    if (this.#target) {
      this.#target = false;
      return undefined;
    }
    switch (this.#state) {
      case "arguments":
        return this.#argument(word);
      case "subject":
        if (word === "in") this.#state = "pattern";
        return undefined;
      case "pattern":
        if (word === "esac") this.#endCase();
        return undefined;
      case "function":
        this.#state = "command";
        this.#defined = true;
        return word;
      default:
        return this.#wrapper === "" ? this.#first(word) : this.#wrapped(word);
    }
  }

  #endCase(): void {
    this.#cases = Math.max(0, this.#cases - 1);
    this.#state = "command";
  }

  #argument(word: string): undefined {
    if (this.#command === "eval") this.#evaluated.push(word);
    if (this.#command === "find" && findRuns.has(word)) this.#state = "command";
  }

  #first(word: string): string | undefined {
    if (word === "{") this.#braces.push(this.#defined);
    else if (word === "}") this.#braces.pop();
    else if (word === "esac") this.#endCase();
    else if (word === "function") this.#state = "function";
    else if (word === "for" || word === "select") this.#state = "arguments";
    else if (word === "case") {
      this.#cases++;
      this.#state = "subject";
    } else if (word === "[[") {
      this.#state = "arguments";
      return word;
    } else if (word !== "" && !keywords.has(word) && !assignment.test(word)) this.#name(word);
    this.#defined = false;
    return undefined;
  }

  #wrapped(word: string): undefined {
    const options = wrappers[this.#wrapper] ?? "";
    if (this.#skip) this.#skip = false;
    else if (word.startsWith("-")) {
      this.#skip = word.length === 2 && options.includes(word.charAt(1));
      // It only asks what the name means.
      if (this.#wrapper === "command" && /^-p?[vV]/.test(word)) this.#state = "arguments";
    } else if (this.#wrapper === "timeout" && duration.test(word)) this.#skip = false;
    else if (!assignment.test(word)) this.#name(word);
  }

  #name(word: string): void {
    this.#note(word, this.inBody);
    const name = word.slice(word.lastIndexOf("/") + 1);
    const wraps = Object.hasOwn(wrappers, name);
    this.#wrapper = wraps ? name : "";
    this.#state = wraps ? "command" : "arguments";
    // What `find` runs ends where the arguments of `find` go on.
    if (this.#command !== "find") this.#command = name;
  }
}
