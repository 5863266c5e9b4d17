import type { Frame } from "../domain/batch.ts";
import type { RevisionHints, TraceWriter } from "./ports.ts";

/**
 * Stores a batch of frames in one transaction, then tells watchers. Gives the number of records.
 * Throws what the database said: the work queue delivers the batch, or its frames one by one, again.
 */
export async function ingestFrames(
  parts: { readonly writer: TraceWriter; readonly hints: RevisionHints },
  frames: readonly Frame[],
): Promise<number> {
  for (const revision of await parts.writer.ingest(frames)) parts.hints.publish(revision);
  return frames.reduce((sum, frame) => sum + frame.records.length, 0);
}
