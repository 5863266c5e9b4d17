import type { ToolSpec } from "@drover/model";
import { type ToolResult, toolFailure } from "../domain/tool-result.ts";
import { findToolsName } from "./find-tools.ts";

const known = new WeakMap<readonly ToolSpec[], Map<string, readonly ToolSpec[]>>();

/**
 * The tools that an agent offers, in the box's order; `names` empty is all of them. Where tools are found by search, the
 * search is offered to every agent: it finds no others than the agent's. The same lists give the same
 * array, so that what is computed of it can be kept.
 */
export function offered(specs: readonly ToolSpec[], names: readonly string[]): readonly ToolSpec[] {
  if (names.length === 0) return specs;
  const lists = known.get(specs) ?? new Map<string, readonly ToolSpec[]>();
  known.set(specs, lists);
  const key = [...names].sort().join(" ");
  const list = lists.get(key) ?? specs.filter(({ name }) => name === findToolsName || names.includes(name));
  if (lists.size < mostLists) lists.set(key, list);
  return list;
}

/** Lists that are kept; a tenant can make agents without end. */
const mostLists = 256;

/** The refusal of a call of a tool that the agent does not offer; undefined for one that it does. */
export function refusalOf(name: string, names: readonly string[]): ToolResult | undefined {
  if (names.length === 0 || name === findToolsName || names.includes(name)) return undefined;
  return toolFailure("UNKNOWN_TOOL", `There is no tool ${JSON.stringify(name)}; there are ${names.join(", ")}.`);
}
