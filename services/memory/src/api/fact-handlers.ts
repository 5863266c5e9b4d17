import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { TaskWork } from "@drover/bus";
import { invalidField } from "@drover/kernel";
import {
  type ExtractFactsResponseSchema,
  ExtractionOutcome,
  type FactSchema,
  FactScope,
  type FactService,
} from "@drover/proto/memory/v1/fact_service";
import type { ExtractFacts, Extraction } from "../application/extract-facts.ts";
import type { ForgetFact } from "../application/forget-fact.ts";
import type { ListFacts } from "../application/list-facts.ts";
import type { Fact } from "../domain/fact.ts";
import { callOf } from "./call-of.ts";

/** The use cases behind the service. */
export interface FactUseCases {
  readonly extract: ExtractFacts;
  readonly list: ListFacts;
  readonly forget: ForgetFact;
}

/** The handlers of `drover.memory.v1.FactService`. A task's cancel stops its extraction. */
export function factHandlers(use: FactUseCases, tasks: TaskWork): ServiceImpl<typeof FactService> {
  return {
    async extractFacts({ conversationId, taskId, agent }, context) {
      const call = callOf(context);
      const task = { conversationId, taskId, agent };
      const extraction = await tasks.during({ ...call.owner, taskId }, call.signal, (signal) =>
        use.extract({ ...call, taskId, signal }, task),
      );
      return extractionResponse(extraction);
    },
    async listFacts(request, context) {
      const { agent, includeEnded, pageSize, pageToken } = request;
      const scope = scopeOf(request.scope);
      const page = await use.list(callOf(context), { scope, agent, includeEnded, pageSize, pageToken });
      return { facts: page.facts.map(factMessage), nextPageToken: page.nextPageToken };
    },
    async deleteFact({ factId }, context) {
      return { removed: await use.forget(callOf(context), factId) };
    },
  };
}

const scopes = { tenant: FactScope.TENANT, user: FactScope.USER, agent: FactScope.AGENT } as const;

function scopeOf(scope: FactScope): Fact["scope"] | undefined {
  switch (scope) {
    case FactScope.UNSPECIFIED:
      return undefined;
    case FactScope.TENANT:
      return "tenant";
    case FactScope.USER:
      return "user";
    case FactScope.AGENT:
      return "agent";
    default:
      throw invalidField("scope", String(scope), "a FactScope");
  }
}

function factMessage(fact: Fact): MessageInitShape<typeof FactSchema> {
  const { id, subject, agent, text, importance, conversationId, taskId } = fact;
  return {
    ...{ id, subject, agent, text, importance, conversationId, taskId },
    scope: scopes[fact.scope],
    messageSequence: BigInt(fact.messageSequence),
    validFrom: timestampFromDate(fact.validFrom),
    ...(fact.validTo === undefined ? {} : { validTo: timestampFromDate(fact.validTo) }),
    supersededBy: fact.supersededBy ?? "",
  };
}

function extractionResponse(extraction: Extraction): MessageInitShape<typeof ExtractFactsResponseSchema> {
  if (extraction.outcome === "disabled") return { outcome: ExtractionOutcome.DISABLED };
  const throughSequence = BigInt(extraction.throughSequence);
  if (extraction.outcome === "nothing") return { outcome: ExtractionOutcome.NOTHING, throughSequence };
  const { added, updated, ended, unchanged, refused, fault, model, usage } = extraction;
  const outcome = extraction.outcome === "extracted" ? ExtractionOutcome.EXTRACTED : ExtractionOutcome.MALFORMED;
  return {
    ...{ outcome, added, updated, ended, unchanged, refused, fault, model, throughSequence },
    usage: {
      inputTokens: BigInt(usage.inputTokens),
      outputTokens: BigInt(usage.outputTokens),
      cachedInputTokens: BigInt(usage.cachedInputTokens),
      reasoningTokens: BigInt(usage.reasoningTokens),
      ...(usage.costNanoUsd === null ? {} : { costNanoUsd: BigInt(usage.costNanoUsd) }),
    },
  };
}
