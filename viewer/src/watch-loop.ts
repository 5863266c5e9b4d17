/** What a watch got from the server. */
export interface WatchPiece {
  readonly revision: bigint;
}

/** How the connection stands. */
export type Connection = "connecting" | "live" | "complete" | "lost";

/** What the loop needs. Everything comes from outside, so that it runs without a browser. */
export interface WatchLoopParts<Piece extends WatchPiece> {
  readonly open: (afterRevision: bigint, signal: AbortSignal) => AsyncIterable<Piece>;
  readonly onPiece: (piece: Piece) => void;
  readonly onConnection: (connection: Connection) => void;
  /** True for what trying again cannot cure: signed out, not found, a bad id. It is then thrown. */
  readonly isFinal: (error: unknown) => boolean;
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** A stream that says nothing for so long is dead, whatever the browser thinks; beyond the heartbeat of 15 s. */
  readonly silenceMs?: number;
}

const waits = { firstMs: 500, maxMs: 15_000 };

/**
 * Watches from revision 0 and, when the connection breaks or falls silent, from the last revision, until
 * the stream ends by itself or the signal aborts. Throws what is final.
 */
export async function watchLoop<Piece extends WatchPiece>(
  parts: WatchLoopParts<Piece>,
  signal: AbortSignal,
): Promise<void> {
  let revision = 0n;
  let waitMs = waits.firstMs;
  while (!signal.aborted) {
    const silence = new AbortController();
    const watching = AbortSignal.any([signal, silence.signal]);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const heard = () => {
      clearTimeout(timer);
      timer = setTimeout(() => silence.abort(), parts.silenceMs ?? 40_000);
    };
    try {
      heard();
      for await (const piece of parts.open(revision, watching)) {
        heard();
        revision = piece.revision;
        waitMs = waits.firstMs;
        parts.onPiece(piece);
        parts.onConnection("live");
      }
      if (!silence.signal.aborted) return parts.onConnection("complete");
    } catch (error) {
      if (signal.aborted) return;
      if (parts.isFinal(error)) throw error;
    } finally {
      clearTimeout(timer);
    }
    parts.onConnection("lost");
    await parts.sleep(waitMs, signal);
    waitMs = Math.min(waitMs * 2, waits.maxMs);
  }
}
