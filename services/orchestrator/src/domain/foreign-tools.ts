import { headOf, sha256 } from "@drover/kernel";
import type { ToolSpec } from "@drover/model";
import { canonicalJson } from "./policy.ts";

/** A tool as its server tells of it. */
export interface ForeignTool {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments, as the server wrote it. */
  readonly inputSchema: unknown;
}

/** A tool of a server as it is offered. */
export interface OfferedTool {
  /** The server's own name. */
  readonly foreignName: string;
  readonly spec: ToolSpec;
  /** What arguments are checked against: the schema whole, where providers are sent a simpler one. */
  readonly schema: Readonly<Record<string, unknown>>;
  /** SHA-256 of name, description and schema, as the server gave them. */
  readonly digest: string;
}

const limits = { tools: 500, nameCharacters: 128, descriptionCharacters: 4_000, schemaCharacters: 65_536, depth: 64 };
const longestName = 64;

/** True for a name that only a tool of a server can have, whether there is such a server or not. */
export function isForeignName(name: string): boolean {
  return /^[a-z0-9][a-z0-9-]{0,31}__[A-Za-z0-9_-]{1,60}$/.test(name) && name.length <= longestName;
}

/**
 * The name under which the model sees a tool: `server__tool`, within what every provider accepts. A name that had to be
 * changed ends in 8 hex digits of its own hash, so that two of them never meet and the order of a list means nothing.
 */
export function offeredName(server: string, tool: string): string {
  const plain = `${server}__${tool}`;
  const clean = plain.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  if (clean === plain && plain.length <= longestName) return plain;
  return `${clean.slice(0, longestName - 9)}_${sha256(plain).slice(0, 8)}`;
}

/**
 * What can be offered of a server's list, in the order of the names, and why the rest cannot. Nothing that a server says
 * is believed: lists, texts and schemas are bounded, and a schema that refers to anything outside of itself is refused
 * and never fetched.
 */
export function offeredTools(
  server: string,
  listed: readonly ForeignTool[],
  allowed: readonly string[],
): { readonly tools: readonly OfferedTool[]; readonly leftOut: readonly string[] } {
  const leftOut: string[] = [];
  const tools = new Map<string, OfferedTool>();
  const wanted = allowed.length === 0 ? listed : listed.filter(({ name }) => allowed.includes(name));
  if (wanted.length > limits.tools) leftOut.push(`${wanted.length - limits.tools} tools beyond ${limits.tools}.`);
  for (const tool of wanted.slice(0, limits.tools)) {
    const shown = JSON.stringify(headOf(tool.name, 80));
    const fault = faultOf(tool);
    const name = offeredName(server, tool.name);
    if (fault !== undefined) leftOut.push(`${shown}: ${fault}.`);
    else if (tools.has(name)) leftOut.push(`${shown}: its name is there twice.`);
    else tools.set(name, offer(name, tool));
  }
  const missing = allowed.filter((name) => !listed.some((tool) => tool.name === name));
  for (const name of missing) leftOut.push(`${JSON.stringify(headOf(name, 80))}: the server does not have it.`);
  return { tools: [...tools.values()].sort((a, b) => (a.spec.name < b.spec.name ? -1 : 1)), leftOut };
}

function offer(name: string, { name: foreignName, description, inputSchema }: ForeignTool): OfferedTool {
  const { $schema: _schema, $id: _id, ...schema } = inputSchema as Readonly<Record<string, unknown>>;
  const { anyOf: _any, oneOf: _one, allOf: _all, ...simple } = schema;
  const parameters = { properties: {}, ...simple, type: "object" };
  return {
    foreignName,
    spec: { name, description: headOf(description, limits.descriptionCharacters), parameters },
    schema,
    digest: sha256(canonicalJson({ name: foreignName, description, inputSchema })),
  };
}

function faultOf({ name, inputSchema }: ForeignTool): string | undefined {
  if (name === "" || name.length > limits.nameCharacters) return `a name has 1 to ${limits.nameCharacters} characters`;
  if (typeof inputSchema !== "object" || inputSchema === null || Array.isArray(inputSchema)) {
    return "its schema is not a JSON object";
  }
  const { type } = inputSchema as Readonly<Record<string, unknown>>;
  if (type !== undefined && type !== "object") return "its schema is not one of an object";
  const fault = schemaFault(inputSchema, 0);
  if (fault !== undefined) return fault;
  const size = JSON.stringify(inputSchema).length;
  return size > limits.schemaCharacters ? `its schema has more than ${limits.schemaCharacters} characters` : undefined;
}

const references = new Set(["$ref", "$dynamicRef", "$recursiveRef"]);

/** What makes a schema unusable: it is too deep, or means something that is not in it. */
function schemaFault(value: unknown, depth: number): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth > limits.depth) return `its schema is nested deeper than ${limits.depth}`;
  for (const [key, part] of Object.entries(value)) {
    if (references.has(key) && typeof part === "string" && !part.startsWith("#")) {
      return `its schema refers to ${JSON.stringify(headOf(part, 80))}, which is outside of it and is not fetched`;
    }
    if (key === "$async") return "$async is no keyword of JSON Schema";
    if (key === "$id" && depth > 0 && typeof part === "string") return "a part of its schema has an $id of its own";
    const fault = schemaFault(part, depth + 1);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
