/** Tokens of one model call, as the provider reported them or, where it did not, as counted. */
export interface ModelUsage {
  /** All tokens of the prompt, the cached ones included. */
  readonly inputTokens: number;
  /** All generated tokens, reasoning included. */
  readonly outputTokens: number;
  /** The part of `inputTokens` read from the provider's cache. */
  readonly cachedInputTokens: number;
  /** The part of `outputTokens` spent on reasoning. */
  readonly reasoningTokens: number;
  /** True when the provider reported nothing and the numbers are our own count. */
  readonly estimated: boolean;
}

/** No tokens at all; the neutral element of {@link addUsage}. */
export const noUsage: ModelUsage = Object.freeze({
  inputTokens: 0,
  outputTokens: 0,
  cachedInputTokens: 0,
  reasoningTokens: 0,
  estimated: false,
});

/** The sum of two usages; estimated as soon as one of them is. */
export function addUsage(a: ModelUsage, b: ModelUsage): ModelUsage {
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    cachedInputTokens: a.cachedInputTokens + b.cachedInputTokens,
    reasoningTokens: a.reasoningTokens + b.reasoningTokens,
    estimated: a.estimated || b.estimated,
  };
}
