export { conversationFault } from "./conversation-fault.ts";
export { collectDecision, decisionOf, type ModelDecision, type TurnContent } from "./decision.ts";
export type { Embedder, EmbeddingKind } from "./embedder.ts";
export type { ModelEvent, ModelGateway, ModelReply, ModelRequest } from "./gateway.ts";
export { createHashEmbedder, hashVector } from "./hash-embedder.ts";
export type { AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage } from "./message.ts";
export { costNanoUsd, priceOf, type TokenPrice } from "./price-table.ts";
export { isToolName, type ToolSpec } from "./tool-spec.ts";
export { addUsage, type ModelUsage, noUsage } from "./usage.ts";
