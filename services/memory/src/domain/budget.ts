/** What a context may use, in tokens; every number is at least 0. */
export interface BudgetRequest {
  /** The model's whole window. */
  readonly windowTokens: number;
  /** Kept free for the model's answer. */
  readonly reservedOutputTokens: number;
  /** Kept free because a count is never exactly the provider's. */
  readonly safetyMarginTokens: number;
}

/** Share of the window that the reserve for the answer may take at most. */
const reservedShare = 0.25;
/** The safety margin is at least this share of the window, because a counting error grows with the text. */
const marginFloorShare = 0.03;
/** And at most this share: a fixed margin of 3,000 would leave little of a small window. */
const marginCapShare = 0.1;

/**
 * Tokens of the window that a prompt may fill: the window without the reserve for the answer and
 * without a safety margin. Both are clamped to shares of the window, so that the result is positive
 * for every window, also one of 8,000 tokens.
 */
export function usableTokens(request: BudgetRequest): number {
  const { windowTokens } = request;
  const reserved = Math.min(request.reservedOutputTokens, reservedShare * windowTokens);
  const floor = Math.max(request.safetyMarginTokens, marginFloorShare * windowTokens);
  const margin = Math.min(floor, marginCapShare * windowTokens);
  return Math.max(0, Math.floor(windowTokens - reserved - margin));
}
