import { DroverError, type ErrorCode, invalidField, withTimeout } from "@drover/kernel";
import type { Embedder } from "@drover/model";
import { attr, type Tracer } from "@drover/tracing";
import { collectionName, requireSameEmbedder } from "../domain/collection.ts";
import { type FusionWeights, fuse } from "../domain/fusion.ts";
import { queryTerms } from "../domain/lexical.ts";
import { type Call, inSpan } from "./call.ts";
import type { DocumentStore, FoundPassage, SearchIndex } from "./ports.ts";

/** Passages, best first. */
interface SearchOutcome {
  readonly passages: readonly FoundPassage[];
  /** The embedding endpoint did not answer; the lexical leg answered alone. */
  readonly vectorLegSkipped: boolean;
}

/** Finds passages; see the rpc of the same name for the contract. */
export type SearchDocuments = (
  call: Call,
  request: { readonly query: string; readonly collection: string; readonly limit: number },
) => Promise<SearchOutcome>;

interface Parts {
  readonly store: DocumentStore;
  readonly index: SearchIndex;
  readonly embedder: Embedder;
  readonly weights: FusionWeights;
  readonly tracer: Tracer;
  /** How long a search waits for the vector of its query. */
  readonly embeddingTimeoutMs: number;
}

const limits = { queryCharacters: 2000, defaultPassages: 5, maxPassages: 50, candidates: 50 } as const;

/** Makes {@link SearchDocuments}. */
export function createSearchDocuments(parts: Parts): SearchDocuments {
  return async (call, request) => {
    const collection = collectionName(request.collection, "collection");
    const query = request.query.trim();
    checkRequest(query, request.limit);
    const attributes = { [attr.searchQuery]: query, [attr.searchCollection]: collection };
    return await inSpan(parts.tracer, call, { name: "search documents", attributes }, async (span) => {
      const outcome = await search(parts, call, { query, collection, limit: request.limit || limits.defaultPassages });
      span?.set({ [attr.searchHits]: outcome.passages.length });
      if (outcome.vectorLegSkipped) span?.event("note", { text: "The embedding endpoint did not answer." });
      return outcome;
    });
  };
}

function checkRequest(query: string, limit: number): void {
  if (query === "" || query.length > limits.queryCharacters) {
    throw invalidField("query", `${query.length} characters`, `1 to ${limits.queryCharacters} characters`);
  }
  if (limit < 0 || limit > limits.maxPassages) throw invalidField("limit", String(limit), `0 to ${limits.maxPassages}`);
}

async function search(
  parts: Parts,
  call: Call,
  request: { readonly query: string; readonly collection: string; readonly limit: number },
): Promise<SearchOutcome> {
  const stored = await parts.store.embedderOf(call.tenant, request.collection, call.signal);
  if (stored === undefined) return { passages: [], vectorLegSkipped: false };
  requireSameEmbedder(request.collection, stored, parts.embedder);
  const vector = await embedQuery(parts, request.query, call.signal);
  const terms = queryTerms(request.query);
  const query = { collection: request.collection, terms, vector, candidates: limits.candidates };
  const pick = (lexical: readonly string[], near: readonly string[]) =>
    fuse(lexical, near, parts.weights, request.limit);
  const passages = await parts.index.search(call.tenant, query, pick, call.signal);
  return { passages, vectorLegSkipped: vector === undefined };
}

/** The vector of the query; undefined when the endpoint is away, because words can be searched without it. */
async function embedQuery(
  { embedder, embeddingTimeoutMs }: Parts,
  query: string,
  signal: AbortSignal,
): Promise<readonly number[] | undefined> {
  try {
    const embed = (inTime: AbortSignal) => embedder.embed([query], "query", inTime);
    return (await withTimeout("Embedding the query", embeddingTimeoutMs, signal, embed))[0];
  } catch (error) {
    if (error instanceof DroverError && away.has(error.code) && !signal.aborted) return undefined;
    throw error;
  }
}

const away: ReadonlySet<ErrorCode> = new Set(["UNAVAILABLE", "DEADLINE_EXCEEDED", "RESOURCE_EXHAUSTED"]);
