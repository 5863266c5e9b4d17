import { attr } from "@drover/tracing";
import type { SpanFacts } from "../domain/fold-trace.ts";
import { attributesOf, type Span } from "../domain/span.ts";

/** Reads usage and task state of a span. Only a model call owns usage: what wraps it repeats the sum. */
export function readSpanFacts(span: Span): SpanFacts {
  const attributes = attributesOf(span);
  const taskState = span.started?.kind === "task" ? (attributes[attr.taskState] ?? "") : "";
  if (span.started?.kind !== "model") return { usage: undefined, taskState };
  const count = (key: string) => wholeNumber(attributes[key]);
  return {
    taskState,
    usage: {
      inputTokens: count(attr.inputTokens),
      outputTokens: count(attr.outputTokens),
      cachedInputTokens: count(attr.cachedInputTokens),
      reasoningTokens: count(attr.reasoningTokens),
      costNanoUsd: count(attr.costNanoUsd),
      priced: attributes[attr.costNanoUsd] === undefined ? 0 : 1,
    },
  };
}

/** 0 for what is absent or not a whole number that can be summed. */
function wholeNumber(text: string | undefined): number {
  const number = Number(text ?? 0);
  return Number.isSafeInteger(number) && number >= 0 && number < 1e15 ? number : 0;
}
