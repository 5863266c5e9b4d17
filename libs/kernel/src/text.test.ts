import fc from "fast-check";
import { expect, test } from "vitest";
import { headOf, storableText, tailOf } from "./text.ts";

const anyText = fc.string({ unit: "binary", maxLength: 40 });

test("storable text is well-formed and has no NUL; ordinary text stays as it was", () => {
  expect(storableText("a\u0000b\ud800c")).toBe("a\u2400b\ufffdc");
  expect(storableText("Käse 世界 🎉")).toBe("Käse 世界 🎉");
  fc.assert(
    fc.property(anyText, (text) => {
      const stored = storableText(text);
      expect(stored.isWellFormed()).toBe(true);
      expect(stored).not.toContain("\u0000");
      expect(stored.length).toBe(text.length);
    }),
  );
});

test("head and tail never cut a surrogate pair and lose at most one unit for it", () => {
  fc.assert(
    fc.property(fc.string({ unit: "grapheme", maxLength: 40 }), fc.nat(60), (text, max) => {
      const head = headOf(text, max);
      const tail = tailOf(text, max);
      expect(text.startsWith(head) && text.endsWith(tail)).toBe(true);
      expect(head.isWellFormed() && tail.isWellFormed()).toBe(true);
      expect(Math.min(text.length, max) - head.length).toBeLessThanOrEqual(1);
      expect(Math.min(text.length, max) - tail.length).toBeLessThanOrEqual(1);
    }),
  );
});
