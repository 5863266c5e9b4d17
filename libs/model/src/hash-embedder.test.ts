import fc from "fast-check";
import { expect, test } from "vitest";
import { createHashEmbedder, hashVector } from "./hash-embedder.ts";

const cosine = (a: string, b: string) => {
  const other = hashVector(b);
  return hashVector(a).reduce((sum, value, index) => sum + value * (other[index] ?? 0), 0);
};

test("every text has a finite unit vector, the same each time", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 200 }), (text) => {
      const vector = hashVector(text);
      expect(vector).toHaveLength(512);
      expect(vector.every(Number.isFinite)).toBe(true);
      expect(Math.hypot(...vector)).toBeCloseTo(1, 9);
      expect(hashVector(text)).toEqual(vector);
    }),
  );
});

test.each(["", "   ", "!?…", "\u0000", "🙂"])("%j, without a letter, still has a direction", (text) => {
  expect(Math.hypot(...hashVector(text))).toBe(1);
});

test.each([
  ["capture timeout of a payment", "The payment capture timed out", "Holiday opening hours of the canteen"],
  ["退款流程是什么", "如何处理退款流程", "仓库的营业时间"],
  ["Zahlung fehlgeschlagen", "Die Zahlung ist fehlgeschlagen.", "Der Kantinenplan der Woche"],
])("%j is nearer to %j than to %j", (query, near, far) => {
  expect(cosine(query, near)).toBeGreaterThan(cosine(query, far) + 0.2);
});

test("width and case do not matter, and a batch keeps its order", async () => {
  expect(cosine("ＡＢＣ１２", "abc12")).toBeCloseTo(1, 9);
  const embedder = createHashEmbedder();
  expect(await embedder.embed(["a", "b"], "document")).toEqual([hashVector("a"), hashVector("b")]);
  await expect(embedder.embed(["a"], "query", AbortSignal.abort())).rejects.toMatchObject({ code: "CANCELLED" });
});
