import type { ModelUsage } from "../usage.ts";

/** Usage as a provider reports it, or undefined when it reports none. Names differ between providers. */
export function usageOf(wire: unknown): ModelUsage | undefined {
  if (!isRecord(wire)) return undefined;
  const input = count(wire.prompt_tokens);
  const output = count(wire.completion_tokens);
  if (input === undefined && output === undefined) return undefined;
  const cached =
    count(nested(wire, "prompt_tokens_details", "cached_tokens")) ??
    count(wire.prompt_cache_hit_tokens) ??
    count(wire.cached_tokens);
  const reasoning = count(nested(wire, "completion_tokens_details", "reasoning_tokens"));
  return {
    inputTokens: input ?? 0,
    outputTokens: output ?? 0,
    cachedInputTokens: cached ?? 0,
    reasoningTokens: reasoning ?? 0,
    estimated: false,
  };
}

function nested(wire: Readonly<Record<string, unknown>>, outer: string, inner: string): unknown {
  const details = wire[outer];
  return isRecord(details) ? details[inner] : undefined;
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : undefined;
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
