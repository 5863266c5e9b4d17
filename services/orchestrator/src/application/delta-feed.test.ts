import fc from "fast-check";
import { expect, test } from "vitest";
import { createDeltaFeed } from "./delta-feed.ts";
import type { Delta } from "./ports.ts";

function feed(pieces: readonly string[]): Delta[] {
  let now = 0;
  const sent: Delta[] = [];
  const made = createDeltaFeed("t", 3, { monotonicMs: () => (now += 60) }, (delta) => sent.push(delta));
  for (const text of pieces) made.accept({ type: "text", text });
  made.end();
  return sent;
}

test("pieces add up to the text, with the offsets of what came before", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("a ", "word", "\n", "the end ", "x")), (pieces) => {
      let text = "";
      for (const delta of feed(pieces)) {
        expect([delta.offset, delta.step, delta.channel]).toEqual([text.length, 3, "text"]);
        text += delta.text;
      }
      expect(text).toBe(pieces.join(""));
    }),
  );
});

test("a very long turn is shown at its beginning alone, in time that does not grow with its square", () => {
  const pieces = Array.from({ length: 2_000 }, () => "word ".repeat(2_000));
  const shown = feed(pieces).reduce((sum, delta) => sum + delta.text.length, 0);
  expect(shown).toBeGreaterThan(50_000);
  expect(shown).toBeLessThanOrEqual(64_000);
});

test("a secret is never shown, however it is cut", () => {
  const secret = `ghp_${"a1B2".repeat(9)}`;
  const text = `the token is ${secret} and more`;
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: text.length - 1 }), { maxLength: 8 }), (cuts) => {
      const at = [0, ...new Set(cuts.toSorted((a, b) => a - b)), text.length];
      const shown = feed(at.slice(1).map((end, i) => text.slice(at[i], end)))
        .map((delta) => delta.text)
        .join("");
      expect(shown).not.toContain(secret.slice(0, 12));
      expect(shown).toContain("the token is");
    }),
  );
});
