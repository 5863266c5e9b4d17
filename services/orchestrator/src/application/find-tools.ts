import { headOf } from "@drover/kernel";
import type { ToolSpec } from "@drover/model";
import { loadedAddress } from "../domain/tool-pins.ts";
import type { Tool } from "./tool-ports.ts";

/** Tools that one search loads. */
const mostFound = 8;

const parameters = {
  type: "object",
  properties: {
    query: { type: "string", minLength: 1, maxLength: 500, description: "Words of what the tool should do." },
  },
  required: ["query"],
  additionalProperties: false,
};

/** Name of the tool that finds others; no tool of a server can have it. */
export const findToolsName = "find_tools";

/**
 * find_tools: the tools of servers whose names and descriptions fit a query best. What it names is on offer from the next
 * turn on. It changes nothing outside of the task.
 */
export function findTools(specs: readonly ToolSpec[]): Tool {
  return {
    spec: {
      name: findToolsName,
      description: `Finds further tools by what they do. There are ${specs.length} that are not listed here; those that are found can be called from the next turn on.`,
      parameters,
    },
    timeoutMs: 10_000,
    replay: "safe",
    async execute(args) {
      const found = bestOf(specs, String(args.query));
      const lines = found.map(
        ({ name, description }) => `${name}: ${headOf(description.split("\n", 1)[0] ?? "", 200)}`,
      );
      const summary =
        found.length === 0
          ? "no tool fits; try other words"
          : `${found.length} tools found and loaded; call them from the next turn on`;
      const artifacts = found.map(({ name }) => loadedAddress(name));
      return { ok: true, errorCode: "", summary, text: lines.join("\n"), artifacts, retryable: false };
    },
  };
}

/** By the words of the query that stand in the name (which count three times) and in the description; ties in the order of the names. */
function bestOf(specs: readonly ToolSpec[], query: string): readonly ToolSpec[] {
  const words = wordsOf(query);
  const scored = specs.map((spec) => {
    const name = wordsOf(spec.name);
    const description = wordsOf(spec.description);
    let score = 0;
    for (const word of words) score += (name.has(word) ? 3 : 0) + (description.has(word) ? 1 : 0);
    return { spec, score };
  });
  const fitting = scored.filter(({ score }) => score > 0);
  fitting.sort((a, b) => b.score - a.score || (a.spec.name < b.spec.name ? -1 : 1));
  return fitting.slice(0, mostFound).map(({ spec }) => spec);
}

/** Words in lower case; those of one or two letters say nothing, numbers do. */
function wordsOf(text: string): ReadonlySet<string> {
  const words = text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return new Set(words.filter((word) => word.length > 2 || /\p{N}/u.test(word)));
}
