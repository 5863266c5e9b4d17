import { type DescField, type DescMessage, getOption, ScalarType } from "@bufbuild/protobuf";
import { type DroverError, invalidField } from "@drover/kernel";
import { any_text as anyText } from "@drover/proto/common/v1/options";

/**
 * INVALID_ARGUMENT, with the field's path, for a request that holds a NUL in a string: neither Postgres nor a
 * path, a variable or a name can hold one. Fields with the option `any_text` are left to their service.
 */
export function nulIn(schema: DescMessage, message: unknown): DroverError | undefined {
  const field = pathOfNul(schema, message, "");
  return field === undefined ? undefined : invalidField(field, "a NUL", "text without NUL");
}

/** Finds a NUL in one field's value; the path of the field goes before what it gives. */
type Finder = (value: unknown, path: string) => string | undefined;

interface FieldCheck {
  readonly field: DescField;
  readonly find: Finder;
}

const checks = new WeakMap<DescMessage, readonly FieldCheck[]>();

function pathOfNul(schema: DescMessage, message: unknown, prefix: string): string | undefined {
  if (typeof message !== "object" || message === null) return undefined;
  for (const { field, find } of checksOf(schema)) {
    const value = fieldValue(message, field);
    const path = value === undefined ? undefined : find(value, `${prefix}${field.name}`);
    if (path !== undefined) return path;
  }
  return undefined;
}

function checksOf(schema: DescMessage): readonly FieldCheck[] {
  let known = checks.get(schema);
  if (known === undefined) {
    known = schema.fields.flatMap((field) => {
      const find = getOption(field, anyText) ? undefined : finderOf(field);
      return find === undefined ? [] : [{ field, find }];
    });
    checks.set(schema, known);
  }
  return known;
}

function finderOf(field: DescField): Finder | undefined {
  switch (field.fieldKind) {
    case "scalar":
      return field.scalar === ScalarType.STRING ? inText : undefined;
    case "message":
      return inMessage(field.message);
    case "list":
      return field.listKind === "enum" ? undefined : inList(elementFinder(field.message, field.scalar));
    case "map":
      return inMap(field.mapKind === "enum" ? undefined : elementFinder(field.message, field.scalar));
    default:
      return undefined;
  }
}

function elementFinder(message: DescMessage | undefined, scalar: ScalarType | undefined): Finder | undefined {
  if (message !== undefined) return inMessage(message);
  return scalar === ScalarType.STRING ? inText : undefined;
}

const inText: Finder = (value, path) => (typeof value === "string" && value.includes("\0") ? path : undefined);

function inMessage(schema: DescMessage): Finder {
  return (value, path) => pathOfNul(schema, value, `${path}.`);
}

function inList(find: Finder | undefined): Finder | undefined {
  if (find === undefined) return undefined;
  return (value, path) => {
    if (!Array.isArray(value)) return undefined;
    for (const [index, element] of value.entries()) {
      const found = find(element, `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** Keys are text as well; one with a NUL is named by its map alone. */
function inMap(find: Finder | undefined): Finder {
  return (value, path) => {
    if (typeof value !== "object" || value === null) return undefined;
    for (const [key, element] of Object.entries(value)) {
      const found = key.includes("\0") ? path : find?.(element, `${path}[${key}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

function fieldValue(message: object, field: DescField): unknown {
  if (field.oneof === undefined) return Reflect.get(message, field.localName);
  const chosen: unknown = Reflect.get(message, field.oneof.localName);
  if (typeof chosen !== "object" || chosen === null || Reflect.get(chosen, "case") !== field.localName)
    return undefined;
  return Reflect.get(chosen, "value");
}
