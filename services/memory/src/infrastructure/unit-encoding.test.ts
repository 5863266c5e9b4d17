import fc from "fast-check";
import { expect, it } from "vitest";
import { decodeUnits, encodeUnits } from "./unit-encoding.ts";

it("gives any range of any text back from the same range of bytes", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "binary-ascii" }));
  fc.assert(
    fc.property(text, fc.nat(50), fc.nat(50), (source, from, length) => {
      const { bytes, unitBytes } = encodeUnits(source);
      const part = bytes.subarray(from * unitBytes, (from + length) * unitBytes);
      expect(decodeUnits(part, unitBytes)).toBe(source.slice(from, from + length));
    }),
  );
  expect(encodeUnits("é").unitBytes).toBe(1);
  expect(encodeUnits("漢").unitBytes).toBe(2);
});
