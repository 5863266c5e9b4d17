/**
 * The closed vocabulary of traces: kinds of spans, kinds of events and keys of attributes. Emitters
 * accept nothing else, the viewer and the trace service read the same names, and docs/events.md
 * lists them (a test holds the two together).
 *
 * Keys beginning with `gen_ai.` are OpenTelemetry's semantic conventions for generative AI
 * (https://github.com/open-telemetry/semantic-conventions-genai); what they do not name is `drover.`.
 */

/** What a span is a piece of; the viewer's colours follow it. */
export const spanKinds = [
  "task",
  "round",
  "model",
  "tool",
  "sandbox",
  "rag",
  "memory",
  "verification",
  "wait",
] as const;

/** One of {@link spanKinds}. */
export type SpanKind = (typeof spanKinds)[number];

/** What happened at a point within a span. */
export const eventKinds = [
  "thinking",
  "message",
  "tool_input",
  "tool_output",
  "redacted",
  "spilled",
  "folded",
  "state_changed",
  "approval",
  "retry",
  "note",
  "error",
] as const;

/** One of {@link eventKinds}. */
export type EventKind = (typeof eventKinds)[number];

/** Attribute keys by the name code uses. Values are text, numbers (in the unit of the key's name) or booleans. */
export const attr = {
  operation: "gen_ai.operation.name",
  provider: "gen_ai.provider.name",
  requestModel: "gen_ai.request.model",
  responseModel: "gen_ai.response.model",
  finishReason: "gen_ai.response.finish_reasons",
  inputTokens: "gen_ai.usage.input_tokens",
  outputTokens: "gen_ai.usage.output_tokens",
  cachedInputTokens: "gen_ai.usage.cache_read.input_tokens",
  reasoningTokens: "gen_ai.usage.reasoning.output_tokens",
  conversationId: "gen_ai.conversation.id",
  toolName: "gen_ai.tool.name",
  toolCallId: "gen_ai.tool.call.id",
  toolSummary: "drover.tool.summary",
  costNanoUsd: "drover.cost.nano_usd",
  taskId: "drover.task.id",
  taskState: "drover.task.state",
  taskStateFrom: "drover.task.state.from",
  actor: "drover.actor",
  reason: "drover.reason",
  mode: "drover.mode",
  role: "drover.role",
  round: "drover.round",
  maxRounds: "drover.round.max",
  attempt: "drover.attempt",
  contextTokens: "drover.context.tokens",
  contextBudget: "drover.context.budget",
  contextFixedTokens: "drover.context.fixed_tokens",
  contextHistoryTokens: "drover.context.history_tokens",
  contextFoldedTokens: "drover.context.folded_tokens",
  contextMessages: "drover.context.messages",
  resultCharacters: "drover.result.characters",
  shownCharacters: "drover.result.shown_characters",
  spillPointer: "drover.spill.pointer",
  redactedCount: "drover.redacted.count",
  redactedKinds: "drover.redacted.kinds",
  errorCode: "drover.error.code",
  waitFor: "drover.wait.for",
  approvalId: "drover.approval.id",
  approvalDecision: "drover.approval.decision",
  execLanguage: "drover.exec.language",
  execPhase: "drover.exec.phase",
  execPool: "drover.exec.pool",
  execExitCode: "drover.exec.exit_code",
  execOutcome: "drover.exec.outcome",
  execPeakBytes: "drover.exec.peak_memory_bytes",
  execOutputBytes: "drover.exec.output_bytes",
  searchQuery: "drover.search.query",
  searchHits: "drover.search.hits",
  searchCollection: "drover.search.collection",
} as const;

/** One of the keys in {@link attr}. */
export type AttributeKey = (typeof attr)[keyof typeof attr];

/** Attributes of a span or an event. Undefined values are left out. */
export type Attributes = { readonly [K in AttributeKey]?: string | number | boolean | undefined };
