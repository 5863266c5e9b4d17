import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { ServiceImpl } from "@connectrpc/connect";
import type { TaskWork } from "@drover/bus";
import { type Document, DocumentSchema, DocumentState } from "@drover/proto/rag/v1/document";
import { type DocumentService, UploadRefusalSchema } from "@drover/proto/rag/v1/document_service";
import type { Documents } from "../application/documents.ts";
import type { UploadDocument } from "../application/upload-document.ts";
import type { IndexedDocument } from "../domain/document.ts";
import { isRefusal } from "../domain/refusal.ts";
import { callOf } from "./call-of.ts";
import { openUploadStream } from "./upload-stream.ts";

/** The handlers of `drover.rag.v1.DocumentService`. A task's cancel stops its uploads. */
export function documentHandlers(
  use: { readonly upload: UploadDocument; readonly documents: Documents },
  tasks: TaskWork,
): ServiceImpl<typeof DocumentService> {
  return {
    async uploadDocument(requests, context) {
      const { header, chunks } = await openUploadStream(requests);
      const call = callOf(context);
      const outcome = await tasks.during(call, call.signal, (signal) =>
        use.upload({ ...call, signal }, header, chunks),
      );
      if (isRefusal(outcome)) {
        return { result: { case: "refusal", value: create(UploadRefusalSchema, outcome) }, unchanged: false };
      }
      return { result: { case: "document", value: protoDocument(outcome.document) }, unchanged: outcome.unchanged };
    },
    async getDocument(request, context) {
      return { document: protoDocument(await use.documents.get(callOf(context), request.documentId)) };
    },
    async listDocuments(request, context) {
      const page = await use.documents.list(callOf(context), request);
      return { documents: page.documents.map(protoDocument), nextPageToken: page.nextPageToken };
    },
    async deleteDocument(request, context) {
      return { chunksDeleted: await use.documents.delete(callOf(context), request.documentId) };
    },
  };
}

function protoDocument(document: IndexedDocument): Document {
  return create(DocumentSchema, {
    id: document.id,
    collection: document.collection,
    name: document.name,
    mediaType: document.mediaType,
    sizeBytes: BigInt(document.sizeBytes),
    sha256: document.sha256,
    state: DocumentState.READY,
    chunkCount: document.chunkCount,
    createdAt: timestampFromDate(document.createdAt),
  });
}
