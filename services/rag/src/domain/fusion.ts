/** The constant of reciprocal rank fusion (Cormack, Clarke and Büttcher, SIGIR 2009). */
const k = 60;

/** How much each leg counts. */
export interface FusionWeights {
  readonly lexical: number;
  readonly vector: number;
}

/** A passage in the fused order. */
export interface FusedPassage {
  readonly chunkId: string;
  readonly score: number;
  /** From 1; 0 where the leg did not find it. */
  readonly lexicalRank: number;
  readonly vectorRank: number;
}

/**
 * Reciprocal rank fusion of two rankings, best first: each leg adds weight / (60 + rank). Equal scores
 * keep the order of the lexical leg, then of the ids, so that the result is the same each time.
 */
export function fuse(
  lexical: readonly string[],
  vector: readonly string[],
  weights: FusionWeights,
  limit: number,
): FusedPassage[] {
  const lexicalRanks = ranksOf(lexical);
  const vectorRanks = ranksOf(vector);
  return [...new Set([...lexical, ...vector])]
    .map((chunkId) => {
      const lexicalRank = lexicalRanks.get(chunkId) ?? 0;
      const vectorRank = vectorRanks.get(chunkId) ?? 0;
      const score = part(weights.lexical, lexicalRank) + part(weights.vector, vectorRank);
      return { chunkId, score, lexicalRank, vectorRank };
    })
    .sort((a, b) => b.score - a.score || orderOf(a) - orderOf(b) || (a.chunkId < b.chunkId ? -1 : 1))
    .slice(0, limit);
}

function ranksOf(ids: readonly string[]): ReadonlyMap<string, number> {
  return new Map(ids.map((id, index) => [id, index + 1]));
}

function part(weight: number, rank: number): number {
  return rank === 0 ? 0 : weight / (k + rank);
}

function orderOf(passage: FusedPassage): number {
  return passage.lexicalRank || Number.MAX_SAFE_INTEGER;
}
