import { newId, throwIfAborted } from "@drover/kernel";
import type { Embedder } from "@drover/model";
import { attr, type Tracer } from "@drover/tracing";
import { collectionName, requireSameEmbedder } from "../domain/collection.ts";
import { decodeText } from "../domain/decode.ts";
import type { IndexedChunk, IndexedDocument } from "../domain/document.ts";
import { documentName } from "../domain/document-name.ts";
import { isRefusal, type Refusal } from "../domain/refusal.ts";
import { type Call, inSpan } from "./call.ts";
import type { DocumentStore, SplitChunk, Splitter } from "./ports.ts";
import type { Receive } from "./receive.ts";

/** What became of an upload. */
type UploadOutcome = Refusal | { readonly document: IndexedDocument; readonly unchanged: boolean };

/** Stores and indexes a document; see the rpc of the same name for the contract. */
export type UploadDocument = (
  call: Call,
  header: { readonly collection: string; readonly name: string },
  chunks: AsyncIterable<Uint8Array>,
) => Promise<UploadOutcome>;

interface Parts {
  readonly store: DocumentStore;
  readonly splitter: Splitter;
  readonly embedder: Embedder;
  readonly receive: Receive;
  readonly tracer: Tracer;
  /** A document with more is refused. */
  readonly maxChunks: number;
}

/** Texts given to the embedder before other work gets its turn. */
const embedBatch = 32;

/**
 * Makes {@link UploadDocument}. Reading, splitting and embedding come before the one transaction
 * that replaces the document, so that nothing slow happens inside it.
 */
export function createUploadDocument(parts: Parts): UploadDocument {
  return async (call, header, chunks) => {
    const collection = collectionName(header.collection, "header.collection");
    const named = documentName(header.name, [...parts.splitter.mediaTypes.keys()]);
    if (isRefusal(named)) return named;
    const attributes = { [attr.searchCollection]: collection };
    return await inSpan(parts.tracer, call, { name: "index document", attributes }, async (span) => {
      const bytes = await parts.receive(chunks, call.signal);
      if (isRefusal(bytes)) return bytes;
      const outcome = await index(parts, call, { ...named, collection, bytes });
      if (isRefusal(outcome)) span?.event("note", { text: `refused: ${outcome.check}, found ${outcome.found}` });
      return outcome;
    });
  };
}

interface Upload {
  readonly collection: string;
  readonly name: string;
  readonly extension: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
}

async function index(parts: Parts, call: Call, upload: Upload): Promise<UploadOutcome> {
  const { store, embedder } = parts;
  const { collection, name, bytes } = upload;
  const { tenant, signal } = call;
  requireSameEmbedder(collection, await store.embedderOf(tenant, collection, signal), embedder);
  const sha256 = await hexDigest(bytes);
  const present = await store.findByName(tenant, collection, name, signal);
  if (present?.sha256 === sha256) return { document: present, unchanged: true };
  const decoded = decodeText(bytes);
  if (isRefusal(decoded)) return decoded;
  const split = await parts.splitter.split(decoded.text, upload.extension, signal);
  if (isRefusal(split)) return split;
  const refusal = countRefusal(split.length, parts.maxChunks);
  if (refusal !== undefined) return refusal;
  const chunks = await embedAll(split, decoded.text, sha256, embedder, signal);
  const document = {
    id: present?.id ?? newId(),
    collection,
    name,
    mediaType: parts.splitter.mediaTypes.get(upload.extension) ?? "text/plain",
    sizeBytes: bytes.byteLength,
    sha256,
    createdAt: new Date(),
    chunks,
    original: bytes,
  };
  return { document: await store.put(tenant, document, embedder, signal), unchanged: false };
}

function countRefusal(count: number, maxChunks: number): Refusal | undefined {
  if (count === 0) return { check: "empty", found: "no text", allowed: "at least one character" };
  if (count <= maxChunks) return undefined;
  return { check: "content", found: `${count} passages`, allowed: `at most ${maxChunks} passages` };
}

async function embedAll(
  chunks: readonly SplitChunk[],
  source: string,
  sha256: string,
  embedder: Embedder,
  signal: AbortSignal,
): Promise<IndexedChunk[]> {
  const indexed: IndexedChunk[] = [];
  const size = Math.max(embedBatch, Math.min(embedder.maxBatch, 256));
  for (let from = 0; from < chunks.length; from += size) {
    await nextTurn();
    throwIfAborted(signal);
    const batch = chunks
      .slice(from, from + size)
      .map((chunk) => ({ chunk, text: source.slice(chunk.start, chunk.end) }));
    const texts = batch.map(({ chunk, text }) => (chunk.lead === "" ? text : `${chunk.lead}\n${text}`));
    const vectors = await embedder.embed(texts, "document", signal);
    for (const [at, { chunk, text }] of batch.entries()) {
      const { headingPath, start, end, words, grams } = chunk;
      const id = `${sha256.slice(0, 16)}-${start}-${end}`;
      indexed.push({ id, headingPath, text, start, end, words, grams, embedding: vectors[at] ?? [] });
    }
  }
  return indexed;
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function hexDigest(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", bytes);
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}
