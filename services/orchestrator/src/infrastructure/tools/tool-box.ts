import type { ToolSpec } from "@drover/model";
import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { Tool, ToolBox } from "../../application/tool-ports.ts";
import { toolFailure } from "../../domain/tool-result.ts";

/** Faults of arguments that are told at once. */
const toldFaults = 8;

/** The tools on offer. Arguments are checked against the tool's own schema before it sees them. */
export function createToolBox(tools: readonly Tool[]): ToolBox {
  const ajv = new Ajv({ allErrors: true, strict: true, coerceTypes: false, useDefaults: false });
  const known = new Map(tools.map((tool) => [tool.spec.name, tool]));
  // A spec may change, and is then another object.
  const checks = new WeakMap<ToolSpec, ValidateFunction>();
  const checkOf = ({ spec }: Tool): ValidateFunction => {
    const check = checks.get(spec) ?? ajv.compile(spec.parameters);
    checks.set(spec, check);
    return check;
  };
  for (const tool of tools) checkOf(tool);
  const names = [...known.keys()].join(", ");
  return {
    get specs() {
      return tools.map((tool) => tool.spec);
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
      const check = checkOf(tool);
      if (!check(args)) {
        return { refused: toolFailure("BAD_ARGUMENTS", `The arguments of ${name} do not fit: ${faultsOf(check)}.`) };
      }
      return { tool, args };
    },
  };
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
