/** BM25 over whole texts, kept in memory: what a search without a database would do. */
export interface Bm25 {
  /** Indexes of the best texts, best first. */
  search(query: string, limit: number): number[];
}

const k1 = 1.2;
const b = 0.75;
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}]+/gu;

/** Okapi BM25 with k1 1.2 and b 0.75; words in lower case, and pairs of characters for Chinese and Japanese. */
export function createBm25(texts: readonly string[]): Bm25 {
  const postings = new Map<string, Map<number, number>>();
  const lengths = texts.map((text, index) => {
    const terms = termsOf(text);
    for (const term of terms) {
      const posting = postings.get(term) ?? new Map<number, number>();
      postings.set(term, posting.set(index, (posting.get(index) ?? 0) + 1));
    }
    return terms.length;
  });
  const average = lengths.reduce((sum, length) => sum + length, 0) / texts.length;
  return {
    search(query, limit) {
      const scores = new Map<number, number>();
      for (const term of new Set(termsOf(query))) {
        const posting = postings.get(term);
        if (posting === undefined) continue;
        const idf = Math.log(1 + (texts.length - posting.size + 0.5) / (posting.size + 0.5));
        for (const [index, count] of posting) {
          const norm = k1 * (1 - b + (b * (lengths[index] ?? 0)) / average);
          scores.set(index, (scores.get(index) ?? 0) + (idf * count * (k1 + 1)) / (count + norm));
        }
      }
      const ranked = [...scores].sort(([i, x], [j, y]) => y - x || i - j);
      return ranked.slice(0, limit).map(([index]) => index);
    },
  };
}

function termsOf(text: string): string[] {
  const terms: string[] = [];
  const spaced = text.toLowerCase().replaceAll(unspaced, (run) => {
    const characters = [...run];
    terms.push(...(characters.length === 1 ? characters : characters.slice(1).map((c, i) => `${characters[i]}${c}`)));
    return " ";
  });
  terms.push(...(spaced.match(/[\p{L}\p{N}]+/gu) ?? []));
  return terms;
}
