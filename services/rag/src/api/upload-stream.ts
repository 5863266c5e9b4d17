import { invalidField } from "@drover/kernel";
import type { UploadDocumentRequest, UploadHeader } from "@drover/proto/rag/v1/document_service";

/** An UploadDocument stream, taken apart: its header, and the chunks that follow. */
export interface UploadStream {
  readonly header: UploadHeader;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Reads the header; INVALID_ARGUMENT when the stream does not begin with one, or has a second. */
export async function openUploadStream(requests: AsyncIterable<UploadDocumentRequest>): Promise<UploadStream> {
  const iterator = requests[Symbol.asyncIterator]();
  const first = await iterator.next();
  const part = first.done ? undefined : first.value.part;
  if (part?.case !== "header") throw invalidField("header", part?.case ?? "nothing", "the header as the first message");
  return { header: part.value, chunks: chunksOf(iterator) };
}

async function* chunksOf(iterator: AsyncIterator<UploadDocumentRequest>): AsyncGenerator<Uint8Array> {
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    const { part } = next.value;
    if (part.case !== "chunk") throw invalidField("part", part.case ?? "nothing", "a chunk after the header");
    yield part.value;
  }
}
