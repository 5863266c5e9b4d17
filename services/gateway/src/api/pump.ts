import type { Duplex } from "node:stream";

/**
 * Copies what `source` gives to `sink` at the pace of the slower one, and calls `onEnd` when all of it was
 * handed over. Does what `pipe` does for two streams whose errors are heard elsewhere, at less cost for the
 * short bodies that most calls have. The result stops the copying; `source` is then left paused.
 */
export function pump(source: Duplex, sink: Duplex, onEnd: () => void): () => void {
  const onData = (chunk: Uint8Array) => {
    if (!sink.destroyed && !sink.writableEnded && !sink.write(chunk)) source.pause();
  };
  const onDrain = () => void source.resume();
  source.on("data", onData);
  source.on("end", onEnd);
  sink.on("drain", onDrain);
  return () => {
    source.pause();
    source.off("data", onData);
    source.off("end", onEnd);
    sink.off("drain", onDrain);
  };
}
