import type { ModelUsage } from "./usage.ts";

/** Prices in nano-USD for one token (1 USD for a million tokens = 1,000). */
export interface TokenPrice {
  readonly input: number;
  readonly cachedInput: number;
  readonly output: number;
}

/** List prices of the providers' public pages (openai.com/api/pricing), standard tier. */
const prices: Readonly<Record<string, TokenPrice>> = {
  "gpt-4o": { input: 2_500, cachedInput: 1_250, output: 10_000 },
  "gpt-4o-mini": { input: 150, cachedInput: 75, output: 600 },
  "gpt-4.1": { input: 2_000, cachedInput: 500, output: 8_000 },
  "gpt-4.1-mini": { input: 400, cachedInput: 100, output: 1_600 },
  "gpt-4.1-nano": { input: 100, cachedInput: 25, output: 400 },
  "gpt-5": { input: 1_250, cachedInput: 125, output: 10_000 },
  "gpt-5-mini": { input: 250, cachedInput: 25, output: 2_000 },
  "gpt-5-nano": { input: 50, cachedInput: 5, output: 400 },
  "gpt-5.1": { input: 1_250, cachedInput: 125, output: 10_000 },
  "gpt-5.2": { input: 1_750, cachedInput: 175, output: 14_000 },
  o3: { input: 2_000, cachedInput: 500, output: 8_000 },
  "o4-mini": { input: 1_100, cachedInput: 275, output: 4_400 },
  "text-embedding-3-small": { input: 20, cachedInput: 20, output: 0 },
  "text-embedding-3-large": { input: 130, cachedInput: 130, output: 0 },
};

/** The price of a model, also under a dated name such as `gpt-4o-2024-11-20`; undefined when unknown. */
export function priceOf(model: string): TokenPrice | undefined {
  const undated = model.replace(/-\d{4}-\d{2}-\d{2}$/, "");
  return Object.hasOwn(prices, model) ? prices[model] : Object.hasOwn(prices, undated) ? prices[undated] : undefined;
}

/** The cost of a call in nano-USD, or undefined for a model whose price is not known: never a guess. */
export function costNanoUsd(model: string, usage: ModelUsage): number | undefined {
  const price = priceOf(model);
  if (price === undefined) return undefined;
  const fresh = Math.max(0, usage.inputTokens - usage.cachedInputTokens);
  return fresh * price.input + usage.cachedInputTokens * price.cachedInput + usage.outputTokens * price.output;
}
