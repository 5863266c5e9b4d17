import type { ToolSpec } from "@drover/model";
import type { TaskLog } from "../domain/step.ts";
import { loadedTools, pinsOf } from "../domain/tool-pins.ts";
import { toolFailure } from "../domain/tool-result.ts";
import { findTools, findToolsName } from "./find-tools.ts";
import { offered } from "./offered-tools.ts";
import type { Tool, ToolBox, ToolLease } from "./tool-ports.ts";

/** How the tools of a task are chosen. */
export interface TaskToolParts {
  readonly promptTokens: (messages: readonly [], tools: readonly ToolSpec[]) => number;
  readonly boxOf: (tools: readonly Tool[]) => ToolBox;
  /** Where the tools of servers need more tokens than this, they are found by search; see {@link findTools}. */
  readonly maxSchemaTokens: number;
}

/** The tools that one task is offered, and those of them that are other than it knows. */
export interface TaskTools {
  readonly tools: ToolBox;
  readonly changed: Readonly<Record<string, string>>;
}

/**
 * The tools of a lease as one task sees them, by its agent's list of names (empty is all) and its log. A tool of a server
 * is held to the form in which it was offered: in another one, or without having been offered, it cannot be called.
 * `asking`: the model is about to be asked, so that what is offered now counts as offered.
 */
export function taskTools(
  parts: TaskToolParts,
  lease: Pick<ToolLease, "local" | "foreign" | "digests">,
  task: { readonly names: readonly string[]; readonly log: TaskLog; readonly asking: boolean },
): TaskTools {
  const { local, foreign, digests } = lease;
  const pinned = pinsOf(task.log);
  if (foreign.specs.length === 0 && pinned.size === 0) return { tools: local, changed: {} };
  const mine = offered(foreign.specs, task.names);
  const searched = tokensOf(parts, mine) > parts.maxSchemaTokens;
  const loaded = searched ? loadedTools(task.log) : undefined;
  const shown = loaded === undefined ? mine : mine.filter(({ name }) => loaded.has(name) || pinned.has(name));
  const finder = searched ? parts.boxOf([findTools(mine)]) : undefined;
  const pins: Record<string, string> = {};
  const changed: Record<string, string> = {};
  for (const { name } of shown) {
    const digest = digests.get(name) ?? "";
    const known = pinned.get(name);
    if (known === undefined && task.asking) pins[name] = digest;
    else if (known !== undefined && known !== digest) changed[name] = digest;
  }
  const specs = finder === undefined ? joined(local.specs, shown) : [...local.specs, ...finder.specs, ...shown];
  const ownNames = new Set(local.specs.map(({ name }) => name));
  const resolve: ToolBox["resolve"] = (name, argumentsJson) => {
    if (ownNames.has(name)) return local.resolve(name, argumentsJson);
    if (name === findToolsName && finder !== undefined) return finder.resolve(name, argumentsJson);
    const digest = digests.get(name);
    const known = pinned.get(name) ?? pins[name];
    if (digest === undefined || known === undefined) return unknownTool(name, specs);
    if (known !== digest) return changedTool(name);
    return foreign.resolve(name, argumentsJson);
  };
  return { tools: { specs, polling: local.polling, pins, resolve }, changed };
}

function unknownTool(name: string, specs: readonly ToolSpec[]) {
  const names = specs.map((spec) => spec.name).join(", ");
  return { refused: toolFailure("UNKNOWN_TOOL", `There is no tool ${JSON.stringify(name)}; there are ${names}.`) };
}

function changedTool(name: string) {
  const summary = `The tool ${name} is no longer what was offered; this call was not run. Look at its new form and ask again.`;
  return { refused: toolFailure("TOOL_CHANGED", summary) };
}

const lists = new WeakMap<
  readonly ToolSpec[],
  { readonly local: readonly ToolSpec[]; readonly all: readonly ToolSpec[] }
>();

/** The same lists give the same array, so that what is computed of it can be kept. */
function joined(local: readonly ToolSpec[], shown: readonly ToolSpec[]): readonly ToolSpec[] {
  const known = lists.get(shown);
  if (known?.local === local) return known.all;
  const all = [...local, ...shown];
  lists.set(shown, { local, all });
  return all;
}

const counted = new WeakMap<readonly ToolSpec[], number>();

function tokensOf({ promptTokens }: TaskToolParts, specs: readonly ToolSpec[]): number {
  const tokens = counted.get(specs) ?? promptTokens([], specs);
  counted.set(specs, tokens);
  return tokens;
}
