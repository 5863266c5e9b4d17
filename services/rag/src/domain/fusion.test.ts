import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { fuse } from "./fusion.ts";

describe("fuse", () => {
  it("adds weight / (60 + rank) of each leg and tells both ranks", () => {
    const [first, second, third] = fuse(["a", "b"], ["b", "c"], { lexical: 1, vector: 0.25 }, 10);
    expect(first).toEqual({ chunkId: "b", score: 1 / 62 + 0.25 / 61, lexicalRank: 2, vectorRank: 1 });
    expect(second).toMatchObject({ chunkId: "a", lexicalRank: 1, vectorRank: 0 });
    expect(third).toMatchObject({ chunkId: "c", lexicalRank: 0, vectorRank: 2 });
  });

  it("keeps the order of the only leg, cuts at the limit, and never repeats an id", () => {
    const ids = fc.uniqueArray(fc.string({ minLength: 1 }), { maxLength: 40 });
    fc.assert(
      fc.property(ids, ids, fc.integer({ min: 1, max: 50 }), (lexical, vector, limit) => {
        const alone = fuse(lexical, [], { lexical: 1, vector: 1 }, limit);
        expect(alone.map((p) => p.chunkId)).toEqual(lexical.slice(0, limit));
        const both = fuse(lexical, vector, { lexical: 1, vector: 0.5 }, limit).map((p) => p.chunkId);
        expect(new Set(both).size).toBe(both.length);
        expect(both.length).toBe(Math.min(limit, new Set([...lexical, ...vector]).size));
      }),
    );
  });
});
