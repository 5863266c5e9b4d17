import { DroverError } from "@drover/kernel";
import type { Embedder } from "../embedder.ts";
import { callScope, withAttempts } from "./attempt.ts";
import { type Endpoint, type EndpointOptions, openEndpoint } from "./endpoint.ts";

export interface OpenAiEmbedderOptions extends EndpointOptions {
  readonly model: string;
  /** The length of the model's vectors; checked on every answer. */
  readonly dimensions: number;
  /** Most texts in one request. Default 64. */
  readonly maxBatch?: number;
}

/**
 * An {@link Embedder} over the OpenAI embeddings protocol. Batches go one after the other; an answer
 * with another number of vectors or another length is FAILED_PRECONDITION, because storing it would
 * spoil the collection.
 */
export function createOpenAiEmbedder(options: OpenAiEmbedderOptions): Embedder {
  const endpoint = openEndpoint(options);
  const maxBatch = options.maxBatch ?? 64;
  return {
    id: `${options.model}-${options.dimensions}`,
    dimensions: options.dimensions,
    maxBatch,
    async embed(texts, _kind, signal) {
      using scope = callScope(endpoint, signal);
      const vectors: number[][] = [];
      for (let start = 0; start < texts.length; start += maxBatch) {
        vectors.push(...(await embedBatch(endpoint, options, texts.slice(start, start + maxBatch), scope.signal)));
      }
      return vectors;
    },
  };
}

async function embedBatch(
  endpoint: Endpoint,
  options: OpenAiEmbedderOptions,
  texts: readonly string[],
  signal: AbortSignal,
): Promise<number[][]> {
  // Providers refuse an empty text; a space embeds as nothing in particular.
  const input = texts.map((text) => (text === "" ? " " : text));
  const answer = await withAttempts(endpoint, signal, (attemptSignal) =>
    endpoint.client.embeddings.create(
      { model: options.model, input, encoding_format: "float" },
      { signal: attemptSignal },
    ),
  );
  const data = answer.data ?? [];
  if (data.length !== texts.length) throw mismatch(endpoint, `${data.length} vectors for ${texts.length} texts`);
  return data
    .toSorted((a, b) => a.index - b.index)
    .map(({ embedding }) => {
      if (embedding.length !== options.dimensions || !embedding.every(Number.isFinite)) {
        throw mismatch(
          endpoint,
          `a vector of ${embedding.length} numbers instead of ${options.dimensions} finite ones`,
        );
      }
      return unit(embedding);
    });
}

function mismatch(endpoint: Endpoint, found: string): DroverError {
  return new DroverError("FAILED_PRECONDITION", `The embedding endpoint ${endpoint.host} sent ${found}.`, {
    reason: "EMBEDDING_MISMATCH",
  });
}

function unit(vector: readonly number[]): number[] {
  const length = Math.hypot(...vector);
  if (length === 0) return vector.map((_, index) => (index === 0 ? 1 : 0));
  return vector.map((value) => value / length);
}
