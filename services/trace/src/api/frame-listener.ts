import type { Bus, Subscription } from "@drover/bus";
import type { Frame } from "../domain/batch.ts";
import { decodeFrame } from "./frame-codec.ts";

/** Counts what came over the bus. */
export interface IngestMeter {
  stored(records: number): void;
  /** Messages that were no frames, or that the database refused again and again. */
  refused(frames: number, error?: unknown): void;
}

/** Takes batches of frames from the work queue; a batch is acknowledged after it was committed. */
export function listenForFrames(
  bus: Bus,
  ingest: (frames: readonly Frame[]) => Promise<number>,
  meter: IngestMeter,
): Subscription {
  return bus.consume({
    handler: async (batch) => {
      const frames = batch.map(({ data }) => decodeFrame(data)).filter((frame) => frame !== undefined);
      if (frames.length > 0) meter.stored(await ingest(frames));
      if (frames.length < batch.length) meter.refused(batch.length - frames.length);
    },
    onBuried: (_, error) => meter.refused(1, error),
  });
}
