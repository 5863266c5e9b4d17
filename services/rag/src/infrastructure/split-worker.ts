import { parentPort } from "node:worker_threads";
import { countTokens } from "@drover/model/tokens";
import type { SplitChunk } from "../application/ports.ts";
import { indexTerms } from "../domain/lexical.ts";
import { type ChunkSizes, splitDocument } from "../domain/splitter.ts";
import { parsers } from "./parsers.ts";

/** What the worker is asked, and what it answers. */
export interface SplitRequest {
  readonly source: string;
  readonly extension: string;
  readonly sizes: ChunkSizes;
}
export type SplitReply = { readonly chunks: readonly SplitChunk[] } | { readonly error: string };

parentPort?.on("message", (request: SplitRequest) => {
  parentPort?.postMessage(reply(request));
});

function reply({ source, extension, sizes }: SplitRequest): SplitReply {
  try {
    const parser = parsers.find((candidate) => candidate.extensions.includes(extension));
    if (parser === undefined) return { error: `no parser for ${extension}` };
    const chunks = splitDocument(source, parser.parse(source), sizes, countTokens);
    return { chunks: chunks.map((chunk) => withTerms(chunk, source)) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

function withTerms(chunk: Omit<SplitChunk, "words" | "grams">, source: string): SplitChunk {
  const { words, grams } = indexTerms(`${chunk.lead}\n${source.slice(chunk.start, chunk.end)}`);
  return { ...chunk, words: words.join(" "), grams: grams.join(" ") };
}
