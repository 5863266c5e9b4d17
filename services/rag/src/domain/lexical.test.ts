import { describe, expect, it } from "vitest";
import { indexTerms, queryTerms } from "./lexical.ts";

describe("indexTerms", () => {
  it("takes words apart at every mark and folds case and width", () => {
    expect(indexTerms("ORD-2024-0117 ＰＡＹ_gateway").words).toEqual(["ord", "2024", "0117", "pay", "gateway"]);
  });

  it("makes single characters and pairs of unspaced scripts, beside the words around them", () => {
    expect(indexTerms("支付状态 PENDING 了")).toEqual({
      words: ["pending"],
      grams: ["支", "付", "状", "态", "支付", "付状", "状态", "了"],
    });
  });

  it("cuts words that Postgres would refuse", () => {
    expect(indexTerms("x".repeat(5000)).words[0]).toHaveLength(64);
  });
});

describe("queryTerms", () => {
  it("asks for pairs, and for a single character only where it stands alone", () => {
    expect(queryTerms("支付 支付 单").grams).toEqual(["支付", "单"]);
  });

  it("asks for each term once and bounds a pasted text", () => {
    expect(queryTerms("a b a").words).toEqual(["a", "b"]);
    expect(queryTerms(Array.from({ length: 999 }, (_, i) => `w${i}`).join(" ")).words).toHaveLength(200);
  });
});
