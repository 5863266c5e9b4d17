type Schema = Readonly<Record<string, unknown>>;

/** References inside references that are written out; a schema that refers to itself is cut there. */
const mostReferences = 6;
/** Schemas of one tool that are written out; what is beyond takes anything. */
const mostSchemas = 2_000;
const mostLevels = 32;
/** What says nothing to a model, and what some providers refuse. */
const dropped = new Set(["$schema", "$id", "$anchor", "$comment", "$defs", "$vocabulary", "definitions", "$ref"]);
/** Keywords whose value is a table of schemas, a list of schemas, one schema. */
const tables = new Set(["properties", "patternProperties", "dependentSchemas"]);
const lists = new Set(["anyOf", "oneOf", "allOf", "prefixItems"]);
const single = new Set([
  ...["items", "additionalProperties", "unevaluatedProperties", "unevaluatedItems", "contains"],
  ...["not", "if", "then", "else", "propertyNames"],
]);

const known = new WeakMap<Schema, Schema>();

/**
 * A copy of a tool's schema that every provider takes: an object at the top with its properties named there, local
 * references written out, nothing that points elsewhere. It is what a model is told; arguments are checked against the
 * schema itself. What a reference to another document says is left out; nothing
 * is ever fetched. The same schema gives the same copy.
 */
export function wireSchema(schema: Schema): Schema {
  const copy = known.get(schema) ?? objectAtTop(new Copier(schema).copy(schema, 0, 0));
  known.set(schema, copy);
  return copy;
}

class Copier {
  readonly #root: Schema;
  #schemas = 0;

  constructor(root: Schema) {
    this.#root = root;
  }

  copy(schema: unknown, references: number, level: number): Schema {
    if (!isRecord(schema) || ++this.#schemas > mostSchemas || level > mostLevels) return {};
    const target = "$ref" in schema ? this.#target(schema.$ref, references) : undefined;
    const referred = target === undefined ? {} : this.copy(target, references + 1, level + 1);
    const own = Object.entries(schema).flatMap(([keyword, value]) => {
      const copied = dropped.has(keyword) ? undefined : this.#value(keyword, value, references, level);
      return copied === undefined ? [] : [[keyword, copied] as const];
    });
    return { ...referred, ...Object.fromEntries(own) };
  }

  #value(keyword: string, value: unknown, references: number, level: number): unknown {
    const copy = (schema: unknown) => (typeof schema === "boolean" ? schema : this.copy(schema, references, level + 1));
    if (tables.has(keyword) && isRecord(value)) {
      return Object.fromEntries(Object.entries(value).map(([name, schema]) => [name, copy(schema)]));
    }
    if (lists.has(keyword) && Array.isArray(value)) return value.map(copy);
    if (!single.has(keyword)) return value;
    const copied = copy(value);
    // Anything goes, which some providers refuse to be told.
    return isRecord(copied) && Object.keys(copied).length === 0 ? undefined : copied;
  }

  /** What a reference within the document points to. */
  #target(reference: unknown, references: number): unknown {
    if (typeof reference !== "string" || references >= mostReferences) return undefined;
    if (reference === "#") return this.#root;
    if (!reference.startsWith("#/")) return undefined;
    let found: unknown = this.#root;
    for (const part of reference.slice(2).split("/")) {
      const name = unescaped(part);
      if (name === undefined || typeof found !== "object" || found === null || !Object.hasOwn(found, name))
        return undefined;
      found = (found as Schema)[name];
    }
    return found;
  }
}

/** A part of a JSON pointer in a URI (RFC 6901). */
function unescaped(part: string): string | undefined {
  try {
    return decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}

/** Choices at the top become one object with the properties of all; required is what every choice requires. */
function objectAtTop({ anyOf, oneOf, allOf, ...rest }: Schema): Schema {
  const choices = [anyOf, oneOf].filter((list) => Array.isArray(list)).map((list) => list.filter(isRecord));
  const all = Array.isArray(allOf) ? allOf.filter(isRecord) : [];
  const parts = [...choices.flat(), ...all, rest];
  const properties = merged(parts.map(({ properties: some }) => (isRecord(some) ? some : {})));
  const required = new Set([
    ...requiredOf(rest),
    ...all.flatMap(requiredOf),
    ...choices.flatMap((list) => requiredByAll(list)),
  ]);
  return { ...rest, type: "object", properties, ...(required.size === 0 ? {} : { required: [...required] }) };
}

/** The properties of all; one that differs between them may be any of what it is. */
function merged(parts: readonly Schema[]): Schema {
  const forms = new Map<string, Map<string, unknown>>();
  for (const [name, form] of parts.flatMap((part) => Object.entries(part))) {
    const known = forms.get(name) ?? new Map<string, unknown>();
    forms.set(name, known.set(JSON.stringify(form), form));
  }
  return Object.fromEntries(
    [...forms].map(([name, known]) => [
      name,
      known.size === 1 ? [...known.values()][0] : { anyOf: [...known.values()] },
    ]),
  );
}

function requiredByAll(choices: readonly Schema[]): readonly string[] {
  const [first, ...others] = choices.map(requiredOf);
  return (first ?? []).filter((name) => others.every((names) => names.includes(name)));
}

function requiredOf({ required }: Schema): readonly string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

function isRecord(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
