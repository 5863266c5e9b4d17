/** A call as it stands in text. */
export interface WrittenCall {
  readonly name: string;
  /** Of a family without types every value is a text. */
  readonly args: Readonly<Record<string, unknown>>;
}

/** A form in which models write calls into their text. */
export interface Family {
  readonly name: string;
  readonly open: string;
  /** Where a call ends; without it, behind the JSON that follows. */
  readonly close?: string;
  /** The calls between the two; undefined where it is something else. Linear in the length of the body. */
  parse(body: string): readonly WrittenCall[] | undefined;
}

/** One object, or each of a list or of several lines, that names a tool and its arguments. */
export function jsonCalls(text: string): readonly WrittenCall[] | undefined {
  const whole = parsed(text);
  const values =
    whole === undefined
      ? text
          .trim()
          .split(/\n|; (?=\{)/)
          .map(parsed)
      : Array.isArray(whole)
        ? whole
        : [whole];
  return allOf(values.map(callOf));
}

/** A name and behind it one JSON object. */
export function namedCall(name: string, text: string): readonly WrittenCall[] | undefined {
  const args = parsed(unfenced(text));
  return isName(name) && isRecord(args) ? [{ name, args }] : undefined;
}

/** All of them, or nothing where there is none or one is missing. */
export function allOf(calls: readonly (WrittenCall | undefined)[]): readonly WrittenCall[] | undefined {
  return calls.length > 0 && calls.every((call) => call !== undefined) ? calls : undefined;
}

/** What stands between each pair of marks; undefined where something else stands outside of them. */
export function between(text: string, open: string, close: string): readonly string[] | undefined {
  const [before = "", ...parts] = text.split(open);
  const bodies = parts.map((part) => {
    const end = part.indexOf(close);
    return end < 0 || part.slice(end + close.length).trim() !== "" ? undefined : part.slice(0, end);
  });
  return before.trim() === "" && bodies.every((body) => body !== undefined) ? bodies : undefined;
}

/** Whether a text can be the name of a tool. */
export function isName(text: string): boolean {
  return /^[A-Za-z0-9_.-]{1,128}$/.test(text);
}

function callOf(value: unknown): WrittenCall | undefined {
  if (!isRecord(value)) return undefined;
  const { name, arguments: args = value.parameters ?? {} } = value;
  const read = typeof args === "string" ? parsed(args) : args;
  return typeof name === "string" && isName(name) && isRecord(read) ? { name, args: read } : undefined;
}

function unfenced(text: string): string {
  return text
    .trim()
    .replace(/^```(?:json)?\n/, "")
    .replace(/\n?```$/, "");
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
