import { CodeTracker } from "./code-tracker.ts";
import { families } from "./families.ts";
import type { Family, WrittenCall } from "./family.ts";

/** Longest markup of one place; what is longer is text. */
const mostCharacters = 65_536;
/** Of a family that has no end of its own: what may stand between its mark and the JSON. */
const mostBeforeJson = 300;
const firstSigns = new Set(families.map(({ open }) => open.charAt(0)));

/** A text without the calls in it. */
export interface Filtered {
  readonly text: string;
  /** Calls of tools that are on offer, in order. */
  readonly calls: readonly WrittenCall[];
  /** Names of other tools whose calls were left out. */
  readonly stripped: readonly string[];
}

/**
 * Takes the calls that a model wrote into its text out of it, as it streams. Only a call that can be read whole is taken,
 * and none in a fenced block or a code span; all else passes unchanged. Without tools on offer everything does. What may
 * become a call is held back, at most {@link mostCharacters} of it (vLLM's parsers hold back alike). The result is the
 * same however the text is cut. Linear in its length.
 */
export class MarkupFilter {
  readonly #offered: ReadonlySet<string>;
  readonly #code = new CodeTracker();
  readonly #calls: WrittenCall[] = [];
  readonly #stripped: string[] = [];
  #held = "";

  constructor(offered: ReadonlySet<string>) {
    this.#offered = offered;
  }

  /** The text that is certain to stay. */
  push(text: string): string {
    if (this.#offered.size === 0) return text;
    this.#held += text;
    return this.#drain(false);
  }

  /** The rest of the text, and the calls of the whole. */
  finish(): Filtered {
    return { text: this.#drain(true), calls: this.#calls, stripped: this.#stripped };
  }

  #drain(over: boolean): string {
    const out: string[] = [];
    while (this.#held !== "") {
      const plain = plainLength(this.#held);
      if (plain > 0) {
        out.push(this.#pass(plain));
        continue;
      }
      const found = this.#code.inside ? "none" : this.#markup(over);
      if (found === "more") break;
      if (found === "none") out.push(this.#pass(1));
      else this.#take(found);
    }
    return out.join("");
  }

  #pass(length: number): string {
    const text = this.#held.slice(0, length);
    this.#held = this.#held.slice(length);
    this.#code.feed(text);
    return text;
  }

  #take({ end, calls }: Region): void {
    this.#held = this.#held.slice(end);
    for (const call of calls) {
      if (this.#offered.has(call.name)) this.#calls.push(call);
      else this.#stripped.push(call.name);
    }
  }

  /** What begins at the first sign that is held; `more` where that is not yet certain. */
  #markup(over: boolean): Region | "none" | "more" {
    const family = families.find(({ open }) => this.#held.startsWith(open));
    if (family !== undefined) return regionOf(family, this.#held, over);
    return !over && families.some(({ open }) => open.startsWith(this.#held)) ? "more" : "none";
  }
}

/** A whole text without the calls in it; see {@link MarkupFilter}. */
export function withoutMarkup(text: string, offered: ReadonlySet<string>): Filtered {
  const filter = new MarkupFilter(offered);
  const begun = filter.push(text);
  const rest = filter.finish();
  return { ...rest, text: begun + rest.text };
}

interface Region {
  readonly end: number;
  readonly calls: readonly WrittenCall[];
}

function plainLength(text: string): number {
  for (let at = 0; at < text.length; at++) if (firstSigns.has(text.charAt(at))) return at;
  return text.length;
}

function regionOf(family: Family, text: string, over: boolean): Region | "none" | "more" {
  const most = text.slice(0, mostCharacters);
  const begin = family.open.length;
  // A call does not hold another one of its form; so nothing is looked at twice.
  const next = most.indexOf(family.open, begin);
  const window = next < 0 ? most : most.slice(0, next);
  const certain = over || next >= 0 || most.length === mostCharacters;
  const end = family.close === undefined ? endOfAll(window, begin, certain) : endOf(window, family.close, begin);
  if (end === undefined) return certain ? "none" : "more";
  if (end < 0) return "none";
  const calls = family.parse(window.slice(begin, end - (family.close?.length ?? 0)));
  return calls === undefined ? "none" : { end, calls };
}

function endOf(text: string, close: string, begin: number): number | undefined {
  const at = text.indexOf(close, begin);
  return at < 0 ? undefined : at + close.length;
}

const joint = "; {";

/** Where the JSON that follows ends, and what is joined to it; undefined while that is not certain, -1 where none comes. */
function endOfAll(text: string, begin: number, certain: boolean): number | undefined {
  let end = endOfJson(text, begin);
  while (end !== undefined && end >= 0) {
    const behind = text.slice(end, end + joint.length);
    if (behind !== joint) return certain || !joint.startsWith(behind) ? end : undefined;
    const further = endOfJson(text, end + joint.length - 1);
    if (further === undefined || further < 0) return certain ? end : further;
    end = further;
  }
  return end;
}

/** Where the first list or object ends. Before an object the name of a tool may stand. */
function endOfJson(text: string, begin: number): number | undefined {
  const ahead = text.slice(begin, begin + mostBeforeJson);
  const from = /^\s*\[/.test(ahead) ? ahead.indexOf("[") : ahead.indexOf("{");
  if (from < 0) return ahead.length === mostBeforeJson ? -1 : undefined;
  let depth = 0;
  for (let at = begin + from; at < text.length; at++) {
    const sign = text.charAt(at);
    if (sign === '"') at = endOfString(text, at);
    else if (sign === "{" || sign === "[") depth++;
    else if ((sign === "}" || sign === "]") && --depth === 0) return at + 1;
  }
  return undefined;
}

/** Where the string that begins there ends, or the end of the text. */
function endOfString(text: string, begin: number): number {
  for (let at = begin + 1; at < text.length; at++) {
    if (text.charAt(at) === "\\") at++;
    else if (text.charAt(at) === '"') return at;
  }
  return text.length;
}
