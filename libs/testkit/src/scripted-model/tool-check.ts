import { badRequest, isRecord, type WireError } from "./wire-error.ts";

const toolName = /^[A-Za-z0-9_-]{1,64}$/;
const maxTools = 128;
const maxDepth = 10;
const schemaTypes: readonly unknown[] = ["object", "array", "string", "number", "integer", "boolean", "null"];

/** The first reason to refuse these tools; undefined when there is none or no tools were sent. */
export function checkTools(tools: unknown): WireError | undefined {
  if (tools === undefined) return undefined;
  if (!Array.isArray(tools) || tools.length === 0 || tools.length > maxTools) {
    return badRequest("tools", `Invalid 'tools': expected an array of 1 to ${maxTools} tools.`);
  }
  const names = new Set<unknown>();
  for (const [index, tool] of tools.entries()) {
    const param = `tools[${index}]`;
    if (!isRecord(tool) || tool.type !== "function" || !isRecord(tool.function)) {
      return badRequest(param, `Invalid '${param}': expected a tool of type 'function'.`);
    }
    const fault = checkFunction(`${param}.function`, tool.function, names);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function checkFunction(
  param: string,
  declared: Readonly<Record<string, unknown>>,
  names: Set<unknown>,
): WireError | undefined {
  const { name, description, parameters } = declared;
  if (typeof name !== "string" || !toolName.test(name)) {
    return badRequest(`${param}.name`, `Invalid '${param}.name': does not match '${toolName.source}'.`);
  }
  if (names.has(name)) return badRequest(`${param}.name`, `Tool names must be unique: ${name}.`);
  names.add(name);
  if (description !== undefined && typeof description !== "string") {
    return badRequest(`${param}.description`, `Invalid '${param}.description': expected a string.`);
  }
  if (parameters === undefined) return undefined;
  const fault =
    isRecord(parameters) && parameters.type !== "object"
      ? "the top must have type 'object'"
      : schemaFault(parameters, "", 0);
  if (fault === undefined) return undefined;
  return badRequest(
    `${param}.parameters`,
    `Invalid schema for function '${name}': ${fault}.`,
    "invalid_function_parameters",
  );
}

/** What is wrong with a JSON Schema, in words; undefined when nothing is. */
function schemaFault(schema: unknown, path: string, depth: number): string | undefined {
  const at = path === "" ? "the top" : path;
  if (!isRecord(schema)) return `${at} is not an object`;
  if (depth > maxDepth) return `${at} is nested deeper than ${maxDepth} levels`;
  const types = schema.type === undefined ? [] : [schema.type].flat();
  if (!types.every((type) => schemaTypes.includes(type))) return `${at} has the type ${JSON.stringify(schema.type)}`;
  if (types.includes("array") && schema.items === undefined) return `${at} is an array without items`;
  if (schema.items !== undefined) {
    const fault = schemaFault(schema.items, `${path}[]`, depth + 1);
    if (fault !== undefined) return fault;
  }
  return propertiesFault(schema, path, depth);
}

function propertiesFault(schema: Readonly<Record<string, unknown>>, path: string, depth: number): string | undefined {
  const properties = schema.properties ?? {};
  if (!isRecord(properties)) return `the properties of ${path === "" ? "the top" : path} are not an object`;
  for (const [name, property] of Object.entries(properties)) {
    const fault = schemaFault(property, path === "" ? name : `${path}.${name}`, depth + 1);
    if (fault !== undefined) return fault;
  }
  const required = schema.required ?? [];
  const areKnown =
    Array.isArray(required) && required.every((name) => typeof name === "string" && Object.hasOwn(properties, name));
  return areKnown ? undefined : `'required' names a property that is not declared (${JSON.stringify(required)})`;
}
