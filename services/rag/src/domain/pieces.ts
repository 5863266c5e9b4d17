import type { Block, Span } from "./block.ts";
import { halve, linesOf, sentencesOf } from "./cuts.ts";

/** Tokens of a text, as the embedder's limit counts them. */
export type CountTokens = (text: string) => number;

/** What chunks are filled with: never cut again. */
export interface Piece extends Span {
  readonly tokens: number;
  /** Text that a chunk which begins here should be found by as well, such as the head of its table. */
  readonly lead: string;
}

/** Sizes in tokens. */
export interface PieceSizes {
  /** Prose beyond this is cut into sentences. */
  readonly target: number;
  /** No piece is larger. */
  readonly limit: number;
}

/** Characters a token stands for at most in ordinary text; longer spans are cut before they are counted. */
const charactersPerToken = 8;
/** The largest part of the limit that a lead may take; a longer one is left out. */
const leadShare = 0.25;

/**
 * The pieces of a block, which together are its span: the block itself where it fits, else the lines
 * of a fence or table or the sentences of prose, and what is still too large cut near the middle.
 */
export function piecesOf(source: string, block: Block, sizes: PieceSizes, count: CountTokens): Piece[] {
  const prose = block.kind === "prose" || block.kind === "heading";
  const whole = measured(source, block, count, prose ? sizes.target : sizes.limit);
  if (whole !== undefined) return [whole];
  const lead = block.kind === "fence" || block.kind === "table" ? leadOf(block, sizes, count) : noLead;
  const limit = sizes.limit - lead.tokens;
  const parts = prose ? sentencesOf(source, block) : linesOf(source, block);
  const pieces = parts.flatMap((part) => fitting(source, part, limit, count));
  return pieces.map((piece, index) => (index === 0 ? piece : { ...piece, lead: lead.text }));
}

const noLead = { text: "", tokens: 0 } as const;

function leadOf(
  block: Extract<Block, { readonly lead: string }>,
  sizes: PieceSizes,
  count: CountTokens,
): { readonly text: string; readonly tokens: number } {
  const tokens = count(block.lead);
  return tokens > leadShare * sizes.limit ? noLead : { text: block.lead, tokens };
}

function fitting(source: string, span: Span, limit: number, count: CountTokens): Piece[] {
  const pieces: Piece[] = [];
  const open: Span[] = [span];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const piece = measured(source, next, count, limit);
    const halves = piece === undefined ? halve(source, next) : undefined;
    if (halves?.length === 2) open.push(halves[1], halves[0]);
    else pieces.push(piece ?? { ...next, tokens: limit, lead: "" });
  }
  return pieces;
}

/** The span as a piece, or undefined when it is over the limit. */
function measured(source: string, span: Span, count: CountTokens, limit: number): Piece | undefined {
  if (span.end - span.start > charactersPerToken * limit) return undefined;
  const tokens = count(source.slice(span.start, span.end));
  return tokens > limit ? undefined : { start: span.start, end: span.end, tokens, lead: "" };
}
