/** Whether a text is stored to be found, or is what one searches with; some models embed them apart. */
export type EmbeddingKind = "document" | "query";

/** Turns texts into vectors of unit length. */
export interface Embedder {
  /** Names model and dimensions, e.g. `hash-512`; stored beside each vector, vectors of two ids never meet. */
  readonly id: string;
  readonly dimensions: number;
  /** The most texts sent to the model in one request; `embed` takes any number and splits by it. */
  readonly maxBatch: number;
  /**
   * One vector for each text, in order; every number is finite, also for an empty text. Rejects with
   * UNAVAILABLE when the model cannot be reached and with CANCELLED after an abort.
   */
  embed(texts: readonly string[], kind: EmbeddingKind, signal?: AbortSignal): Promise<number[][]>;
}
