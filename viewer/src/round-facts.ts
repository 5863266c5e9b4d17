import { attr } from "@drover/tracing/schema";
import { count } from "./format.ts";
import type { SpanTree } from "./span-tree.ts";
import { numberIn } from "./trace-facts.ts";

/** One part of the context bar, in percent of the budget. */
interface ContextPart {
  readonly name: "fixed" | "history" | "folded" | "other";
  readonly percent: number;
}

/** What a round's divider says. */
export interface RoundFacts {
  readonly label: string;
  readonly parts: readonly ContextPart[];
}

/** Facts of the round at `index`, from its own attributes or, while it runs, those of what is in it. */
export function roundFacts(tree: SpanTree, index: number): RoundFacts {
  const span = tree.spans[index];
  const within = tree.spans.slice(index, tree.end[index]);
  const read = (key: string) =>
    numberIn(within.find(({ attributes }) => attributes[key] !== undefined)?.attributes[key]);
  const round = numberIn(span?.attributes[attr.round]);
  const tokens = read(attr.contextTokens);
  const budget = read(attr.contextBudget);
  const said = [round > 0 ? `Round ${round}` : (span?.name ?? "Round"), ...happenings(within)];
  if (tokens > 0) said.push(`context ${count(tokens)}${budget > 0 ? ` of ${count(budget)}` : ""} tokens`);
  return { label: said.join(" · "), parts: partsOf(tokens, budget, read) };
}

function happenings(within: SpanTree["spans"]): string[] {
  const eventsOf = (kind: string) =>
    within.reduce((sum, { events }) => sum + events.filter((event) => event.kind === kind).length, 0);
  const said: string[] = [];
  for (const [kind, one, many] of [
    ["folded", "fold", "folds"],
    ["spilled", "spill", "spills"],
    ["retry", "retry", "retries"],
  ] as const) {
    const times = eventsOf(kind);
    if (times > 0) said.push(`${times} ${times === 1 ? one : many}`);
  }
  return said;
}

function partsOf(tokens: number, budget: number, read: (key: string) => number): ContextPart[] {
  if (tokens === 0 || budget === 0) return [];
  const known = {
    fixed: read(attr.contextFixedTokens),
    history: read(attr.contextHistoryTokens),
    folded: read(attr.contextFoldedTokens),
  };
  const other = Math.max(0, tokens - known.fixed - known.history - known.folded);
  return Object.entries({ ...known, other })
    .filter(([, part]) => part > 0)
    .map(([name, part]) => ({ name: name as ContextPart["name"], percent: Math.min(100, (part / budget) * 100) }));
}
