import type { ToolSpec } from "@drover/model";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { Tool, ToolBox } from "../../application/tool-ports.ts";
import { toolFailure } from "../../domain/tool-result.ts";
import { compiledSchema } from "../json-schema-check.ts";
import { coercedArguments } from "./coerce-arguments.ts";

/** Faults of arguments that are told at once. */
const toldFaults = 8;

/**
 * The tools of other teams' servers. Arguments are checked as in {@link createToolBox}; a schema is compiled when its tool
 * is first called, and a tool whose schema means nothing is refused then.
 */
export function createForeignToolBox(tools: readonly Tool[]): ToolBox {
  return boxOf(tools, lazyCheck);
}

const foreignChecks = new WeakMap<object, ValidateFunction>();

function lazyCheck({ spec, schema = spec.parameters }: Tool): ValidateFunction {
  const check = foreignChecks.get(schema) ?? compiledSchema(schema);
  foreignChecks.set(schema, check);
  return check;
}

/** The tools on offer. Arguments are checked against the tool's own schema before it sees them. */
export function createToolBox(tools: readonly Tool[]): ToolBox {
  const ajv = new Ajv({ allErrors: true, strict: true, coerceTypes: false, useDefaults: false });
  // A spec may change, and is then another object.
  const checks = new WeakMap<ToolSpec, ValidateFunction>();
  const checkOf = ({ spec }: Tool): ValidateFunction => {
    const check = checks.get(spec) ?? ajv.compile(spec.parameters);
    checks.set(spec, check);
    return check;
  };
  for (const tool of tools) checkOf(tool);
  return boxOf(tools, checkOf);
}

function boxOf(tools: readonly Tool[], checkOf: (tool: Tool) => ValidateFunction): ToolBox {
  const known = new Map(tools.map((tool) => [tool.spec.name, tool]));
  const names = [...known.keys()].join(", ");
  let specs = tools.map((tool) => tool.spec);
  return {
    get specs() {
      // The same array as long as no spec has changed: what is computed of it can be kept.
      if (tools.some((tool, index) => specs[index] !== tool.spec)) specs = tools.map((tool) => tool.spec);
      return specs;
    },
    polling: new Set(tools.filter((tool) => tool.polling === true).map((tool) => tool.spec.name)),
    resolve(name, argumentsJson) {
      const tool = known.get(name);
      if (tool === undefined) {
        return {
          refused: toolFailure("UNKNOWN_TOOL", `There is no tool ${JSON.stringify(name)}; there are ${names}.`),
        };
      }
      const args = parsed(argumentsJson);
      if (args === undefined) {
        return { refused: toolFailure("BAD_ARGUMENTS", "The arguments are not one JSON object; write them as one.") };
      }
      const check = usable(tool, checkOf);
      if (typeof check === "string") return { refused: toolFailure("TOOL_UNUSABLE", check) };
      if (check(args)) return { tool, args };
      const read = coercedArguments(args, tool.schema ?? tool.spec.parameters);
      if (read !== args && check(read)) return { tool, args: read };
      return { refused: toolFailure("BAD_ARGUMENTS", `The arguments of ${name} do not fit: ${faultsOf(check)}.`) };
    },
  };
}

function usable(tool: Tool, checkOf: (tool: Tool) => ValidateFunction): ValidateFunction | string {
  try {
    return checkOf(tool);
  } catch {
    return `The schema of ${tool.spec.name} cannot be used, so that it cannot be called.`;
  }
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  // Models send nothing at all for a tool that needs no arguments.
  if (text.trim() === "") return {};
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
    return value as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function faultsOf(valid: ValidateFunction): string {
  return (valid.errors ?? []).slice(0, toldFaults).map(faultOf).join("; ");
}

function faultOf(error: ErrorObject): string {
  const where = error.instancePath === "" ? "the object" : error.instancePath.slice(1).replaceAll("/", ".");
  const extra = error.keyword === "additionalProperties" ? ` (${String(error.params.additionalProperty)})` : "";
  const allowed = error.keyword === "enum" ? ` (${error.params.allowedValues.join(", ")})` : "";
  return `${where} ${error.message ?? "is wrong"}${extra}${allowed}`;
}
