import type { Task, TaskUsage } from "./task.ts";

/** What of a task can run out. */
export type BudgetKind = "ROUNDS" | "WALL_TIME" | "TOKENS" | "COST" | "TOOL_CALLS";

/** The part of a task that budgets are about. */
export type Spender = Pick<Task, "round" | "maxRounds" | "budgets" | "wallMsUsed" | "toolCallsUsed" | "usage">;

/** Fewest tokens that an answer is asked for with. */
export const smallestAnswer = 64;

/** Time kept back for a last answer: a quarter of the whole, at most this many ms. */
const longestReserveMs = 30_000;

/** The wall time at which a task stops working and answers, ms; 0 is never. The rest up to the budget is for that. */
export function workingMs(wallMs: number): number {
  return wallMs === 0 ? 0 : wallMs - Math.min(longestReserveMs, Math.ceil(wallMs / 4));
}

/** The budget that is used up, so that there is no further round; undefined while there is. */
export function exhausted(task: Spender): BudgetKind | undefined {
  const { budgets, usage } = task;
  if (budgets.wallMs > 0 && task.wallMsUsed >= workingMs(budgets.wallMs)) return "WALL_TIME";
  if (budgets.tokens > 0 && tokensOf(usage) >= budgets.tokens) return "TOKENS";
  if (budgets.costNanoUsd > 0 && (usage.costNanoUsd ?? 0) >= budgets.costNanoUsd) return "COST";
  if (budgets.toolCalls > 0 && task.toolCallsUsed >= budgets.toolCalls) return "TOOL_CALLS";
  return task.round >= task.maxRounds ? "ROUNDS" : undefined;
}

/** How a call of the model fits into what is left. */
export type Allowance =
  /** It may produce so many tokens, and a last answer can be had after it. */
  | { readonly kind: "round"; readonly outputTokens: number }
  /** It must be the last one. */
  | { readonly kind: "last"; readonly limit: BudgetKind; readonly outputTokens: number }
  /** It cannot be made at all. */
  | { readonly kind: "none"; readonly limit: BudgetKind };

/** Prices in nano-USD of one token. */
export interface Price {
  readonly input: number;
  readonly output: number;
}

/**
 * Reserves a call of the model whose prompt has `promptTokens`. A round is allowed where, after it at its longest, a
 * last answer over the grown prompt can still be had; a call that might go over a budget is made shorter, and one that
 * could not give an answer of {@link smallestAnswer} tokens is not made. `forced` is a budget that is used up already.
 * Without a price a budget of money cannot be kept: such a task ends before its first call.
 */
export function allowanceFor(
  task: Spender,
  call: { readonly promptTokens: number; readonly wanted: number; readonly price: Price | undefined },
  forced: BudgetKind | undefined,
): Allowance {
  const purses = pursesOf(task, call.price);
  const unaffordable = purses.find(
    (purse) => lastOutput(purse, call.promptTokens) < Math.min(smallestAnswer, call.wanted),
  );
  if (unaffordable !== undefined) return { kind: "none", limit: unaffordable.limit };
  const tightest = purses.find(
    (purse) => roundOutput(purse, call.promptTokens) < Math.min(smallestAnswer, call.wanted),
  );
  const limit = forced ?? tightest?.limit;
  const output = limit === undefined ? roundOutput : lastOutput;
  const outputTokens = Math.min(call.wanted, ...purses.map((purse) => output(purse, call.promptTokens)));
  return limit === undefined ? { kind: "round", outputTokens } : { kind: "last", limit, outputTokens };
}

/** What is used up, in words. */
export function exhaustedText(task: Spender, limit: BudgetKind): string {
  const { budgets } = task;
  switch (limit) {
    case "ROUNDS":
      return `the limit of ${task.maxRounds} ${task.maxRounds === 1 ? "round" : "rounds"}`;
    case "WALL_TIME":
      return `the limit of ${budgets.wallMs / 1_000} s of work`;
    case "TOKENS":
      return `the limit of ${budgets.tokens} ${budgets.tokens === 1 ? "token" : "tokens"}`;
    case "COST":
      return `the limit of ${usd(budgets.costNanoUsd)} USD`;
    case "TOOL_CALLS":
      return `the limit of ${budgets.toolCalls} tool ${budgets.toolCalls === 1 ? "call" : "calls"}`;
  }
}

/** Without an exponent: `0.005`, `0.000000001`. */
function usd(nano: number): string {
  return (nano / 1e9).toFixed(9).replace(/\.?0+$/, "");
}

/** The failure reason of a task whose budget ran out without an answer. */
export function exhaustedReason(limit: BudgetKind): string {
  return `BUDGET_EXHAUSTED_${limit}`;
}

/** The calls of a turn that may still be dispatched. */
export function callsLeft({ budgets, toolCallsUsed }: Spender): number {
  return budgets.toolCalls === 0 ? Number.POSITIVE_INFINITY : Math.max(0, budgets.toolCalls - toolCallsUsed);
}

function tokensOf({ inputTokens, outputTokens }: TaskUsage): number {
  return inputTokens + outputTokens;
}

interface Purse extends Price {
  readonly limit: BudgetKind;
  readonly left: number;
}

function pursesOf({ budgets, usage }: Spender, price: Price | undefined): Purse[] {
  const purses: Purse[] = [];
  if (budgets.tokens > 0) purses.push({ limit: "TOKENS", left: budgets.tokens - tokensOf(usage), input: 1, output: 1 });
  if (budgets.costNanoUsd > 0) {
    const left = usage.costNanoUsd === null || price === undefined ? 0 : budgets.costNanoUsd - usage.costNanoUsd;
    purses.push({ limit: "COST", left, ...(price ?? { input: 1, output: 1 }) });
  }
  return purses;
}

function lastOutput({ left, input, output }: Purse, promptTokens: number): number {
  const rest = left - promptTokens * input;
  if (rest <= 0) return 0;
  return output === 0 ? Number.POSITIVE_INFINITY : Math.floor(rest / output);
}

/** Output x of a round after which prompt + x + results come in again and a smallest answer out. */
function roundOutput({ left, input, output }: Purse, promptTokens: number): number {
  const rest = left - 2 * promptTokens * input - smallestAnswer * (input + output);
  return rest <= 0 ? 0 : Math.floor(rest / Math.max(1, input + output));
}
