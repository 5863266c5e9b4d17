import { headOf } from "@drover/kernel";
import type { Block, ParsedDocument, Span } from "./block.ts";
import { type CountTokens, type Piece, piecesOf } from "./pieces.ts";

/** A passage of a document: an exact slice, `source.slice(start, end)`. */
export interface Chunk extends Span {
  /** Titles of the headings above it, outermost first. */
  readonly headingPath: readonly string[];
  /** What stands before the text when it is indexed: the headings, and the head of a table it continues. */
  readonly lead: string;
}

/** Sizes of chunks in tokens; `limit` holds for lead and text together. */
export interface ChunkSizes {
  /** Chunks are filled up to here. */
  readonly target: number;
  /** A fence or table up to here is kept whole; nothing is ever larger. */
  readonly limit: number;
}

/** Characters kept of the titles above a chunk. */
const titleCharacters = 200;
/** Tokens that may stand between two pieces. */
const gapTokens = 1;

interface Open {
  pieces: Piece[];
  tokens: number;
  onlyHeadings: boolean;
}

/**
 * Splits a parsed document into chunks, in order and without overlap. Together they hold every
 * character of the blocks but white space. A chunk never runs over a heading, except that headings
 * without text of their own go with what follows. Deterministic.
 */
export function splitDocument(
  source: string,
  document: ParsedDocument,
  sizes: ChunkSizes,
  count: CountTokens,
): Chunk[] {
  const chunks: Chunk[] = [];
  let path: Heading[] = [];
  let open: Open = emptyChunk();
  const close = () => {
    const made = closeChunk(
      source,
      open,
      path.map((heading) => heading.title),
    );
    if (made !== undefined) chunks.push(made);
    open = emptyChunk();
  };
  for (const block of document.blocks) {
    if (block.kind === "heading") {
      if (!open.onlyHeadings) close();
      path = [...path.filter((heading) => heading.depth < block.depth), block];
    }
    const lead =
      gapTokens +
      count(
        leadOf(
          path.map((heading) => heading.title),
          "",
        ),
      );
    const room = {
      target: Math.max(1, Math.min(sizes.target, sizes.limit - lead)),
      limit: Math.max(1, sizes.limit - lead),
    };
    for (const piece of piecesOf(source, block, room, count)) {
      if (!fits(open, piece, room, count)) close();
      open.pieces.push(piece);
      open.tokens += piece.tokens + gapTokens;
      open.onlyHeadings &&= block.kind === "heading";
    }
  }
  close();
  return chunks;
}

type Heading = Extract<Block, { readonly kind: "heading" }>;

function emptyChunk(): Open {
  return { pieces: [], tokens: 0, onlyHeadings: true };
}

/** Headings alone take what follows up to the limit, so that they do not end as a chunk of their own. */
function fits(open: Open, piece: Piece, room: ChunkSizes, count: CountTokens): boolean {
  const first = open.pieces[0];
  if (first === undefined) return true;
  const carried = first.lead === "" ? 0 : count(first.lead);
  return open.tokens + piece.tokens + carried <= (open.onlyHeadings ? room.limit : room.target);
}

function closeChunk(source: string, open: Open, headingPath: readonly string[]): Chunk | undefined {
  const first = open.pieces[0];
  const last = open.pieces.at(-1);
  if (first === undefined || last === undefined) return undefined;
  const text = source.slice(first.start, last.end);
  const start = first.start + (/^(?:[^\S\n]*\n)*/.exec(text)?.[0].length ?? 0);
  const end = first.start + text.trimEnd().length;
  if (end <= start) return undefined;
  return { start, end, headingPath, lead: leadOf(headingPath, first.lead) };
}

function leadOf(headingPath: readonly string[], lead: string): string {
  const titles = headOf(headingPath.join(" > "), titleCharacters);
  return [titles, lead].filter((part) => part !== "").join("\n");
}
