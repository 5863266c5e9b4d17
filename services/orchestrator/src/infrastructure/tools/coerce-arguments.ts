type Schema = Readonly<Record<string, unknown>>;
type Json = Readonly<Record<string, unknown>>;

/** How deep a value is looked into. */
const mostLevels = 16;
/** In which order a text is read as something else, where the schema leaves a choice. */
const order = ["integer", "number", "boolean", "object", "array", "null"] as const;

/**
 * Arguments in which a text stands where the schema wants a number, a truth value, an object, a list or null, with the
 * value that the text says. A text stays one wherever the schema takes a text or says nothing of types; what cannot be
 * read stays too, and so does everything that is not a text. Without a change the same object comes back. Schemas
 * behind `$ref`, `anyOf` and the like are not looked into. Order of types: that of vLLM's tool parsers.
 */
export function coercedArguments(args: Json, schema: Schema): Json {
  return coerced(args, schema, 0) as Json;
}

function coerced(value: unknown, schema: unknown, level: number): unknown {
  if (level > mostLevels || !isRecord(schema)) return value;
  if (typeof value === "string") {
    const read = readAs(value, typesOf(schema));
    return typeof read === "object" ? coerced(read, schema, level + 1) : read;
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => coerced(item, schema.items, level + 1));
    return items.some((item, index) => item !== value[index]) ? items : value;
  }
  if (!isRecord(value) || !isRecord(schema.properties)) return value;
  const changed = Object.entries(schema.properties).flatMap(([name, property]) => {
    if (!Object.hasOwn(value, name)) return [];
    const read = coerced(value[name], property, level + 1);
    return read === value[name] ? [] : [[name, read] as const];
  });
  return changed.length === 0 ? value : { ...value, ...Object.fromEntries(changed) };
}

function readAs(text: string, types: readonly string[]): unknown {
  if (types.includes("string")) return text;
  const value = parsed(text);
  if (value === undefined) return text;
  return order.some((type) => types.includes(type) && isA(value, type)) ? value : text;
}

function isA(value: unknown, type: (typeof order)[number]): boolean {
  switch (type) {
    case "integer":
      return Number.isSafeInteger(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "boolean":
      return typeof value === "boolean";
    case "object":
      return isRecord(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
  }
}

/** JSON, or a truth value as Python writes it. */
function parsed(text: string): unknown {
  const trimmed = text.trim();
  if (trimmed === "True" || trimmed === "False") return trimmed === "True";
  if (trimmed === "None") return null;
  try {
    return JSON.parse(trimmed);
  } catch {
    return undefined;
  }
}

function typesOf({ type }: Schema): readonly string[] {
  if (typeof type === "string") return [type];
  return Array.isArray(type) ? type.filter((name) => typeof name === "string") : [];
}

function isRecord(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
