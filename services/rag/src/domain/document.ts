/** A document that is indexed and can be found. */
export interface IndexedDocument {
  readonly id: string;
  readonly collection: string;
  readonly name: string;
  readonly mediaType: string;
  readonly sizeBytes: number;
  /** Of the uploaded bytes, as 64 hexadecimal digits. */
  readonly sha256: string;
  readonly chunkCount: number;
  readonly createdAt: Date;
}

/** What a collection's vectors were made with. */
export interface EmbedderIdentity {
  readonly id: string;
  readonly dimensions: number;
}

/** A chunk ready to be written. */
export interface IndexedChunk {
  readonly id: string;
  readonly headingPath: readonly string[];
  readonly text: string;
  readonly start: number;
  readonly end: number;
  /** Terms between spaces, for the two dictionaries; see `indexTerms`. */
  readonly words: string;
  readonly grams: string;
  readonly embedding: readonly number[];
}
