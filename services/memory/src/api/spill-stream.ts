import { invalidField } from "@drover/kernel";
import type { PutSpillRequest, SpillHeader } from "@drover/proto/memory/v1/conversation_service";

/** A PutSpill stream, taken apart: its header, and the chunks that follow. */
export interface SpillStream {
  readonly header: SpillHeader;
  readonly chunks: AsyncIterable<Uint8Array>;
}

/** Reads the header; INVALID_ARGUMENT when the stream does not begin with one, or has a second. */
export async function openSpillStream(requests: AsyncIterable<PutSpillRequest>): Promise<SpillStream> {
  const iterator = requests[Symbol.asyncIterator]();
  const first = await iterator.next();
  const part = first.done ? undefined : first.value.part;
  if (part?.case !== "header") throw invalidField("header", part?.case ?? "nothing", "the header as the first message");
  return { header: part.value, chunks: chunksOf(iterator) };
}

async function* chunksOf(iterator: AsyncIterator<PutSpillRequest>): AsyncGenerator<Uint8Array> {
  for (let next = await iterator.next(); !next.done; next = await iterator.next()) {
    const { part } = next.value;
    if (part.case !== "chunk") throw invalidField("part", part.case ?? "nothing", "a chunk after the header");
    yield part.value;
  }
}
