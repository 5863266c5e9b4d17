/** A part of a source text in UTF-16 units; `end` is exclusive. */
export interface Span {
  readonly start: number;
  readonly end: number;
}

/** What a parser finds in a document, in order, from the first block on without an overlap. */
export type Block =
  | ({ readonly kind: "heading"; readonly depth: number; readonly title: string } & Span)
  /** Kept whole where it fits; else cut between lines. `lead` is what a reader of a later part misses. */
  | ({ readonly kind: "fence" | "table"; readonly lead: string } & Span)
  | ({ readonly kind: "prose" } & Span);

/** What a parser makes of a document. Text before the first block (front matter) is not indexed. */
export interface ParsedDocument {
  readonly blocks: readonly Block[];
}
