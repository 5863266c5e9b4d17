import { createClient, type Transport } from "@connectrpc/connect";
import { DroverError } from "@drover/kernel";
import { type ExtractFactsResponse, ExtractionOutcome, FactService } from "@drover/proto/memory/v1/fact_service";
import type { ExtractionReport, FactMemory } from "../application/after-task-ports.ts";
import { actingFor } from "./acting-for.ts";

/** Long-term memory over rpc. */
export function createRpcFacts(transport: Transport): FactMemory {
  const client = createClient(FactService, transport);
  return {
    async extract(scope, { conversationId, agent }, signal) {
      const request = { conversationId, agent, taskId: scope.taskId };
      return reportOf(await client.extractFacts(request, actingFor(scope, ["memory:write"], signal)));
    },
  };
}

function reportOf(response: ExtractFactsResponse): ExtractionReport {
  const { usage, added, updated, ended, unchanged, refused, fault } = response;
  const spent = usage && {
    inputTokens: Number(usage.inputTokens),
    outputTokens: Number(usage.outputTokens),
    cachedInputTokens: Number(usage.cachedInputTokens),
    reasoningTokens: Number(usage.reasoningTokens),
    costNanoUsd: usage.costNanoUsd === undefined ? null : Number(usage.costNanoUsd),
  };
  switch (response.outcome) {
    case ExtractionOutcome.EXTRACTED: {
      const words = `Facts: ${added} added, ${updated} updated, ${ended} ended, ${unchanged} unchanged, ${refused} refused.`;
      return { outcome: "EXTRACTED", words, usage: spent };
    }
    case ExtractionOutcome.MALFORMED:
      return { outcome: "MALFORMED", words: `The model's answer could not be read. ${fault}`, usage: spent };
    case ExtractionOutcome.NOTHING:
      return { outcome: "NOTHING", words: "Nothing was said that a fact could be in.", usage: spent };
    case ExtractionOutcome.DISABLED:
      return { outcome: "DISABLED", words: "Extraction is off: memory has no model.", usage: spent };
    default:
      throw new DroverError("INTERNAL", "Memory gave no outcome that is known here.");
  }
}
