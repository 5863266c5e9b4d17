import type { Language } from "./language.ts";
import { baseEnvironment } from "./languages.ts";
import { pathFault } from "./workspace-path.ts";

type Check = (value: unknown) => boolean;

const word: Check = (value) => typeof value === "string" && value.length > 0 && !value.includes("\u0000");
const isTrue: Check = (value) => typeof value === "boolean";
const words: Check = (value) => Array.isArray(value) && value.length > 0 && value.every(word);
const command: Check = (value) => words(value) && /^(?:\{build\}|\{root\})?\//.test((value as string[])[0] ?? "");
const record: Check = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
const environment: Check = (value) =>
  record(value) && Object.entries(value as object).every(([name, text]) => /^[A-Za-z_]\w*$/.test(name) && word(text));

/** Every key of an entry: whether it must be there, what is right, and in words. */
const keys: Readonly<Record<string, readonly [required: boolean, check: Check, allowed: string]>> = {
  name: [true, (value) => /^[a-z][a-z0-9_-]{0,31}$/.test(String(value)), "lower-case letters, digits, - and _"],
  image: [true, (value) => /^[a-z0-9][\w./:@-]{0,254}$/.test(String(value)), "the name of an image"],
  mainFile: [
    true,
    (value) => word(value) && pathFault(String(value)) === undefined && !/\//.test(String(value)),
    "a file name",
  ],
  command: [true, command, "words, the first a path from /, {build} or {root}"],
  compile: [false, command, "words, the first a path from /, {build} or {root}"],
  title: [false, word, "text"],
  sources: [false, words, "endings of file names"],
  ignoredSources: [false, words, "endings of file names"],
  oneFolder: [false, isTrue, "true or false"],
  fixedName: [false, isTrue, "true or false"],
  environment: [false, environment, "texts by names of variables"],
};

/**
 * Languages as a configuration writes them: a JSON list of entries with the keys of {@link Language}.
 * Throws an Error that says which entry and key is wrong and what is allowed.
 */
export function customLanguages(json: string): readonly Language[] {
  const entries = parsed(json);
  if (!Array.isArray(entries)) throw new Error("allowed: a JSON list of languages");
  return entries.map(entryOf);
}

/** The languages of a service: its own ones, where the configuration does not name another by the same name, and then the others. */
export function withCustom(own: readonly Language[], custom: readonly Language[]): readonly Language[] {
  const replaced = new Map(custom.map((language) => [language.name, language]));
  if (replaced.size < custom.length) throw new Error("two entries have the same name");
  const kept = own.map((language) => replaced.get(language.name) ?? language);
  return [...kept, ...custom.filter(({ name }) => !own.some((language) => language.name === name))];
}

function entryOf(entry: unknown, index: number): Language {
  if (!record(entry)) throw new Error(`entry ${index}: allowed: an object`);
  const fields = entry as Record<string, unknown>;
  for (const name of Object.keys(fields)) {
    if (!(name in keys))
      throw new Error(`entry ${index}: unknown key ${name.slice(0, 40)}; allowed: ${Object.keys(keys).join(", ")}`);
  }
  for (const [name, [required, check, allowed]] of Object.entries(keys)) {
    const value = fields[name];
    if (value === undefined ? required : !check(value)) throw new Error(`entry ${index}: ${name}: allowed: ${allowed}`);
  }
  // The table of keys above has looked at every one of them.
  const language = fields as unknown as Language;
  return {
    ...language,
    title: language.title ?? language.name,
    environment: { ...baseEnvironment, ...language.environment },
  };
}

function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    throw new Error("allowed: a JSON list of languages");
  }
}
