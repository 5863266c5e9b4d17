import { mostChanges, nameOf } from "./extraction-question.ts";
import { factCharacters } from "./fact.ts";

/** A change of what is known that a model asks for. `known` is the place of the fact in the question, from 0. */
export type FactChange =
  | {
      readonly op: "add";
      readonly scope: "user" | "agent";
      readonly text: string;
      readonly importance: number;
      readonly source: number;
    }
  | {
      readonly op: "update";
      readonly known: number;
      readonly text: string;
      readonly importance: number;
      readonly source: number;
    }
  | { readonly op: "delete"; readonly known: number; readonly source: number }
  | { readonly op: "none"; readonly known: number };

/** What the question showed, and an answer may therefore name. */
export interface Shown {
  readonly known: number;
  readonly sequences: ReadonlySet<number>;
  readonly agent: string;
}

/** What an answer amounts to; `fault` says in a sentence why it cannot be read. */
export type ReadAnswer = { readonly changes: readonly FactChange[] } | { readonly fault: string };

/**
 * Reads a model's answer strictly: one JSON object of the asked form with no other field, ids and sources that were
 * shown. An answer with one fault is no answer, because what is left of it may mean something else.
 */
export function readAnswer(text: string, shown: Shown): ReadAnswer {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { fault: "It is no JSON." };
  }
  if (!isRecord(value) || !hasExactly(value, ["facts"]) || !Array.isArray(value.facts)) {
    return { fault: 'It is no object with the one field "facts", a list.' };
  }
  if (value.facts.length > mostChanges) return { fault: `facts: there are more than ${mostChanges}.` };
  const changes: FactChange[] = [];
  for (const [index, entry] of value.facts.entries()) {
    const read = readChange(entry, shown);
    if (typeof read === "string") return { fault: `facts[${index}]: ${read}` };
    changes.push(read);
  }
  const named = changes.flatMap((change) => (change.op === "add" ? [] : [change.known]));
  if (new Set(named).size < named.length) return { fault: "facts: a known fact is named twice." };
  return { changes };
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf: Readonly<Record<FactChange["op"], readonly string[]>> = {
  add: ["op", "scope", "text", "importance", "source"],
  update: ["op", "id", "text", "importance", "source"],
  delete: ["op", "id", "source"],
  none: ["op", "id"],
};

function readChange(entry: unknown, shown: Shown): FactChange | string {
  if (!isRecord(entry)) return "it is no object.";
  const { op } = entry;
  if (op !== "add" && op !== "update" && op !== "delete" && op !== "none") return "op is not known.";
  if (!hasExactly(entry, fieldsOf[op])) return `the fields of ${op} are ${fieldsOf[op].join(", ")}.`;
  const fault = faultOf(entry, shown);
  if (fault !== undefined) return fault;
  // Checked above, each where the operation has it.
  const { text, importance, source, scope } = entry as {
    text: string;
    importance: number;
    source: number;
    scope: "user";
  };
  if (op === "add") return { op, scope, text: text.trim(), importance, source };
  const known = knownOf(entry.id, shown);
  if (op === "none") return { op, known };
  return op === "delete" ? { op, known, source } : { op, known, text: text.trim(), importance, source };
}

function faultOf(entry: Fields, shown: Shown): string | undefined {
  const { id, text, importance, source, scope } = entry;
  if ("id" in entry && knownOf(id, shown) < 0) return "id is none of the known ones.";
  if ("scope" in entry && !(scope === "user" || (scope === "agent" && shown.agent !== "")))
    return "scope is not offered.";
  if ("text" in entry && !isStatement(text)) return `text is not 1 to ${factCharacters} characters.`;
  if ("importance" in entry && !isWhole(importance, 0, 100)) return "importance is no whole number from 0 to 100.";
  if ("source" in entry && !(typeof source === "number" && shown.sequences.has(source))) return "source was not shown.";
  return undefined;
}

function knownOf(id: unknown, shown: Shown): number {
  const index = typeof id === "string" && /^f[1-9]\d{0,5}$/.test(id) ? Number(id.slice(1)) - 1 : -1;
  return index < shown.known && nameOf(index) === id ? index : -1;
}

function isStatement(text: unknown): boolean {
  return typeof text === "string" && text.trim() !== "" && Array.from(text).length <= factCharacters;
}

function isWhole(value: unknown, min: number, max: number): boolean {
  return Number.isInteger(value) && Number(value) >= min && Number(value) <= max;
}

function hasExactly(record: Fields, names: readonly string[]): boolean {
  return Object.keys(record).length === names.length && names.every((name) => Object.hasOwn(record, name));
}

function isRecord(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
