import fc from "fast-check";
import { expect, test } from "vitest";
import { PathDisplay } from "./path-display.ts";

const path = "/tmp/drover/aab/files";

test("the path is replaced wherever the stream is cut, and nothing else is touched", () => {
  const piece = fc.constantFrom(path, "/tmp/", "/tmp/drover/aa", "x", "/", "\n", "b/files");
  fc.assert(
    fc.property(fc.array(piece), fc.array(fc.nat(30)), (pieces, cuts) => {
      const text = pieces.join("");
      const display = new PathDisplay(path, "/workspace");
      const shown: Buffer[] = [];
      let at = 0;
      for (const cut of cuts) {
        shown.push(display.push(Buffer.from(text.slice(at, at + cut))));
        at += cut;
      }
      shown.push(display.push(Buffer.from(text.slice(at))), display.end());
      expect(Buffer.concat(shown).toString()).toBe(text.replaceAll(path, "/workspace"));
    }),
  );
});

test("bytes that are no text pass as they are", () => {
  const display = new PathDisplay(path, "/workspace");
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  expect(Buffer.concat([display.push(bytes), display.end()])).toEqual(bytes);
});
