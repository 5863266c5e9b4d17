import { decodePageToken, encodePageToken, isId, notFound, pageSize } from "@drover/kernel";
import { collectionName } from "../domain/collection.ts";
import type { IndexedDocument } from "../domain/document.ts";
import type { Call } from "./call.ts";
import type { DocumentStore } from "./ports.ts";

/** One page of documents. */
interface DocumentPage {
  readonly documents: readonly IndexedDocument[];
  /** Empty on the last page. */
  readonly nextPageToken: string;
}

/** Looking at and removing documents; see the rpcs of the same names for the contracts. */
export interface Documents {
  get(call: Call, id: string): Promise<IndexedDocument>;
  list(
    call: Call,
    request: { readonly collection: string; readonly pageSize: number; readonly pageToken: string },
  ): Promise<DocumentPage>;
  /** Resolves with the number of chunks that went. */
  delete(call: Call, id: string): Promise<number>;
}

/** Makes {@link Documents}. */
export function createDocuments(store: DocumentStore): Documents {
  return {
    async get({ tenant, signal }, id) {
      const document = isId(id) ? await store.get(tenant, id, signal) : undefined;
      if (document === undefined) throw notFound("document", id);
      return document;
    },
    async list({ tenant, signal }, request) {
      const collection = request.collection === "" ? "" : collectionName(request.collection, "collection");
      const limit = pageSize(request.pageSize);
      const scope = `documents:${collection}`;
      const [name, id] = decodePageToken(scope, request.pageToken) ?? [];
      const after = name === undefined || id === undefined ? undefined : { name, id };
      const found = await store.list(tenant, { collection, after, limit: limit + 1 }, signal);
      const documents = found.slice(0, limit);
      const last = documents.at(-1);
      const more = found.length > limit && last !== undefined;
      return { documents, nextPageToken: more ? encodePageToken(scope, [last.name, last.id]) : "" };
    },
    async delete({ tenant, signal }, id) {
      const chunks = isId(id) ? await store.delete(tenant, id, signal) : undefined;
      if (chunks === undefined) throw notFound("document", id);
      return chunks;
    },
  };
}
