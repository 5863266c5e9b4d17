import type { ParsedDocument } from "../domain/block.ts";
import type { EmbedderIdentity, IndexedChunk, IndexedDocument } from "../domain/document.ts";
import type { FusedPassage } from "../domain/fusion.ts";
import type { LexicalTerms } from "../domain/lexical.ts";
import type { Refusal } from "../domain/refusal.ts";
import type { Chunk } from "../domain/splitter.ts";

/** Makes blocks of one kind of document. Pure; takes time linear in the text. */
export interface DocumentParser {
  readonly mediaType: string;
  /** In lower case, with the dot. */
  readonly extensions: readonly string[];
  parse(source: string): ParsedDocument;
}

/** A chunk with the terms it is found by. */
export interface SplitChunk extends Chunk {
  readonly words: string;
  readonly grams: string;
}

/** Splits documents without holding up other calls. */
export interface Splitter {
  /** What a parser exists for: the media type by extension. */
  readonly mediaTypes: ReadonlyMap<string, string>;
  /** Chunks of a text, or why it cannot be split (it takes too long or too much memory). */
  split(source: string, extension: string, signal: AbortSignal): Promise<readonly SplitChunk[] | Refusal>;
}

/** Which documents a list holds, and behind which one it begins. */
export interface DocumentQuery {
  /** Empty means every collection. */
  readonly collection: string;
  readonly after: { readonly name: string; readonly id: string } | undefined;
  readonly limit: number;
}

/** A document ready to be stored. */
export interface PreparedDocument extends Omit<IndexedDocument, "chunkCount"> {
  readonly chunks: readonly IndexedChunk[];
  /** The bytes as they were uploaded. */
  readonly original: Uint8Array;
}

/** Documents of a tenant; another tenant's are as if they did not exist. */
export interface DocumentStore {
  /** What the collection was made with, or undefined while it has had no document. */
  embedderOf(tenant: string, collection: string, signal: AbortSignal): Promise<EmbedderIdentity | undefined>;
  findByName(
    tenant: string,
    collection: string,
    name: string,
    signal: AbortSignal,
  ): Promise<IndexedDocument | undefined>;
  /**
   * Puts a document in the place of the one with its name, if any, which keeps its id; both are never
   * seen together. FAILED_PRECONDITION with reason EMBEDDER_MISMATCH when the collection was made with
   * another embedder in the meantime.
   */
  put(
    tenant: string,
    document: PreparedDocument,
    embedder: EmbedderIdentity,
    signal: AbortSignal,
  ): Promise<IndexedDocument>;
  get(tenant: string, id: string, signal: AbortSignal): Promise<IndexedDocument | undefined>;
  /** By name, then by id. */
  list(tenant: string, query: DocumentQuery, signal: AbortSignal): Promise<IndexedDocument[]>;
  /** Deletes with all chunks; 0 when it was deleted before, undefined when it never existed. */
  delete(tenant: string, id: string, signal: AbortSignal): Promise<number | undefined>;
}

/** What a search looks for. */
export interface SearchQuery {
  readonly collection: string;
  readonly terms: LexicalTerms;
  /** Without it the lexical leg answers alone. */
  readonly vector: readonly number[] | undefined;
  /** Ranks asked of each leg. */
  readonly candidates: number;
}

/** A passage that was found. */
export interface FoundPassage extends FusedPassage {
  readonly documentId: string;
  readonly documentName: string;
  readonly headingPath: readonly string[];
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The two indexes. */
export interface SearchIndex {
  /** Ranks both legs, lets `fuse` pick, and gives the picked passages in its order; all of one moment. */
  search(
    tenant: string,
    query: SearchQuery,
    fuse: (lexical: readonly string[], vector: readonly string[]) => FusedPassage[],
    signal: AbortSignal,
  ): Promise<FoundPassage[]>;
}
